/* The inside of the interpreter, for the two rooms that cannot do without: Python's lock, whose queue
   a copy of the process forgets (copy.c), and the collector's lists, which a census in a copy goes
   through without holding what it sees (tracked.c). To be included first. Versions after 3.13 and
   builds without the lock were not tried: there is no HAVE_INSIDE then. */

#ifndef LEAKGUARD_INSIDE_H
#define LEAKGUARD_INSIDE_H

#include <patchlevel.h>
#include <pyconfig.h>
#if defined(__has_include) && PY_VERSION_HEX < 0x030E0000 && !defined(Py_GIL_DISABLED)
#if __has_include(<internal/pycore_interp.h>)
#define HAVE_INSIDE 1
#define Py_BUILD_CORE 1
#endif
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#ifdef HAVE_INSIDE
#include <internal/pycore_gc.h>
#include <internal/pycore_interp.h>
#if PY_VERSION_HEX < 0x030C0000
#include <internal/pycore_runtime.h>
#define PYTHON_LOCK (&_PyRuntime.ceval.gil)
#else
#define PYTHON_LOCK (PyInterpreterState_Get()->ceval.gil)
#endif
#endif

#endif
