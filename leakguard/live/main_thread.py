"""Tells which thread is the main thread, and calls a function in it.

The function is called between two bytecode instructions of the running code.

The program must not run while another thread walks the heap. The walk adds a reference to each
object, and CPython refuses to resize a tuple with a second reference. A ``tuple(...)`` over a
generator, half finished, then raises ``SystemError`` in the program.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable


class _Asked:
    """Calls a function when its truth value is tested; an exception propagates from the test."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        _waiting.append(self)

    def __bool__(self) -> bool:
        if self in _waiting:
            _waiting.remove(self)
            self._call()
        return False


# Keeps each ``_Asked`` alive until its call: CPython holds no reference to a pending call.
_waiting: list[_Asked] = []


def is_main_thread() -> bool:
    """Return whether this is the main thread; pending calls run only there."""
    # Compare idents: ``threading.current_thread()`` would register a thread that C code started.
    return threading.get_ident() == threading.main_thread().ident


def call_in_main_thread(call: Callable[[], object]) -> bool:
    """Have ``call`` called in the main thread, as signal handlers are; return whether that works.

    Exceptions of ``call`` are raised there. It does not work if the interpreter's queue is full.
    """
    asked = _Asked(call)
    # CPython needs a C function that takes one pointer and returns 0, or -1 after an exception.
    # ``PyObject_IsTrue`` is such a function here: it calls ``_Asked.__bool__``, which calls
    # ``call`` and returns False, so the result is 0. A callback made by ctypes would not do,
    # because ctypes swallows the exceptions that the program's signal handlers raise during the
    # callback.
    truth = ctypes.cast(ctypes.pythonapi.PyObject_IsTrue, ctypes.c_void_p)
    if ctypes.pythonapi.Py_AddPendingCall(truth, ctypes.py_object(asked)) == 0:
        return True
    _waiting.remove(asked)
    return False
