/* The local variables of a running function, read where they lie.

   Up to Python 3.12 frame.f_locals fills a dict that stays with the frame: the one that the program
   got if it called locals(). Here nothing is written. From 3.13 on f_locals writes nothing either. */

#include "inside.h"
#if defined(HAVE_INSIDE) && PY_VERSION_HEX < 0x030D0000
#define HAVE_LOCALS 1
#include <frameobject.h>
#if PY_VERSION_HEX >= 0x030B0000
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#endif
#endif
#include "scan.h"

#ifdef HAVE_LOCALS
const int READS_LOCALS = 1;

static int
put_local(PyObject *found, PyObject *name, PyObject *value, int is_cell)
{
    if (is_cell && value != NULL && PyCell_Check(value)) {
        value = PyCell_GET(value);
    }
    return value == NULL ? 0 : PyDict_SetItem(found, name, value);
}

#if PY_VERSION_HEX >= 0x030B0000
#ifndef CO_FAST_HIDDEN
#define CO_FAST_HIDDEN 0 /* 3.12 inlines comprehensions: their names are not the function's */
#endif

static int
put_locals(PyObject *found, PyFrameObject *frame)
{
    struct _PyInterpreterFrame *inner = frame->f_frame;
    PyCodeObject *code = inner->f_code;
    for (int i = 0; i < code->co_nlocalsplus; i++) {
        _PyLocals_Kind kind = _PyLocals_GetKind(code->co_localspluskinds, i);
        PyObject *name = PyTuple_GET_ITEM(code->co_localsplusnames, i);
        int is_hidden = (kind & CO_FAST_HIDDEN) != 0;
        int is_cell = (kind & (CO_FAST_CELL | CO_FAST_FREE)) != 0;
        if (!is_hidden && put_local(found, name, inner->localsplus[i], is_cell) < 0) {
            return -1;
        }
    }
    return 0;
}
#else
static int
put_names(PyObject *found, PyObject *names, PyObject **values, int are_cells)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        if (put_local(found, PyTuple_GET_ITEM(names, i), values[i], are_cells) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
put_locals(PyObject *found, PyFrameObject *frame)
{
    PyCodeObject *code = frame->f_code;
    PyObject **cells = frame->f_localsplus + code->co_nlocals;
    PyObject **free = cells + PyTuple_GET_SIZE(code->co_cellvars);
    return put_names(found, code->co_varnames, frame->f_localsplus, 0) < 0 ||
           put_names(found, code->co_cellvars, cells, 1) < 0 ||
           put_names(found, code->co_freevars, free, 1) < 0 ? -1 : 0;
}
#endif

static PyObject *
locals_of(PyObject *module, PyObject *frame)
{
    if (!PyFrame_Check(frame)) {
        PyErr_SetString(PyExc_TypeError, "locals_of takes a frame");
        return NULL;
    }
    PyObject *found = PyDict_New();
    if (found != NULL && put_locals(found, (PyFrameObject *)frame) < 0) {
        Py_CLEAR(found);
    }
    return found;
}
#else
const int READS_LOCALS = 0;

static PyObject *
locals_of(PyObject *module, PyObject *frame)
{
    PyErr_SetString(PyExc_NotImplementedError, "f_locals is read here");
    return NULL;
}
#endif

PyDoc_STRVAR(locals_of_doc,
"locals_of(frame)\n--\n\n"
"Return the local variables of a function's frame by name, with nothing written to the frame.");

PyMethodDef frames_functions[] = {
    {"locals_of", (PyCFunction)locals_of, METH_O, locals_of_doc},
    {NULL, NULL, 0, NULL},
};
