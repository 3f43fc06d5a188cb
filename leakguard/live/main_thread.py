"""The main thread: which one it is, and a function that is called in it.

The function is called between two instructions of what runs there.

Another thread that looks at the heap must not let the program go on meanwhile: what it refers to
has one reference more, and CPython refuses to enlarge a tuple that somebody else refers to. A
``tuple(...)`` over a generator, half-way, then raises ``SystemError`` in the program.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable


class _Asked:
    """Calls a function once its truth is asked; an exception goes on to who asks."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        _waiting.append(self)

    def __bool__(self) -> bool:
        if self in _waiting:
            _waiting.remove(self)
            self._call()
        return False


# CPython counts no reference to what it is to call.
_waiting: list[_Asked] = []


def is_main_thread() -> bool:
    """Return whether this is the main thread, which alone makes such calls."""
    # By number: to ask for the current thread gives one that C code has begun an entry among all.
    return threading.get_ident() == threading.main_thread().ident


def call_in_main_thread(call: Callable[[], object]) -> bool:
    """Have ``call`` called in the main thread, as a signal handler is; return whether it will be.

    What it raises is raised there. The interpreter's queue of such calls may be full.
    """
    asked = _Asked(call)
    # It takes a C function of one pointer that returns 0, or -1 after an exception, and such is the
    # question for the truth of an object that is not true. A callback of ctypes would swallow what
    # a signal handler of the program raises meanwhile.
    truth = ctypes.cast(ctypes.pythonapi.PyObject_IsTrue, ctypes.c_void_p)
    if ctypes.pythonapi.Py_AddPendingCall(truth, ctypes.py_object(asked)) == 0:
        return True
    _waiting.remove(asked)
    return False
