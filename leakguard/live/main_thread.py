"""The main thread: which one it is, and a function that is called in it.

The function is called between two bytecode instructions of the running code.

The program must not run while another thread walks the heap. The walk adds a reference to each
object, and CPython refuses to resize a tuple that has a second reference: a ``tuple(...)`` over a
generator, half-way, then raises ``SystemError`` in the program.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable


class _Asked:
    """Calls a function when its truth value is asked for; exceptions propagate to the asker."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        _waiting.append(self)

    def __bool__(self) -> bool:
        if self in _waiting:
            _waiting.remove(self)
            self._call()
        return False


# CPython holds no reference to a pending call.
_waiting: list[_Asked] = []


def is_main_thread() -> bool:
    """Return whether this is the main thread; only it runs pending calls."""
    # Compare numbers: asking for the current thread would register a thread that C code has
    # started.
    return threading.get_ident() == threading.main_thread().ident


def call_in_main_thread(call: Callable[[], object]) -> bool:
    """Have ``call`` called in the main thread, as signal handlers are; return whether it will be.

    Its exceptions are raised there. It fails if the interpreter's queue of such calls is full.
    """
    asked = _Asked(call)
    # CPython wants a C function of one pointer that returns 0, or -1 after an exception. Asking for
    # the truth value of a false object is such a function. A callback of ctypes would swallow
    # exceptions of the program's signal handlers.
    truth = ctypes.cast(ctypes.pythonapi.PyObject_IsTrue, ctypes.c_void_p)
    if ctypes.pythonapi.Py_AddPendingCall(truth, ctypes.py_object(asked)) == 0:
        return True
    _waiting.remove(asked)
    return False
