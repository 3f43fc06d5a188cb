"""Advice that does not depend on a container."""

from __future__ import annotations

NATIVE_ADVICE = (
    "no Python object explains it, so C code keeps it: see which calls of the phase make something "
    "that wants a close(), free() or destroy() of its own"
)
GONE_ADVICE = (
    "the program let go of it when its loop was over, before the last look at who holds what: end "
    "the run inside the function that runs the loop (with LeakGuard(...) as guard, "
    "guard.generations(...)), or let it run longer, so that more of its generations are looked at"
)
POOLS_ADVICE = (
    "objects or blocks that an extension module got and never gave back (a reference too many, "
    "PyMem or PyObject memory): see which call the growth follows, try that package's latest "
    "release, and report it there"
)
NO_COLLECTOR = (
    "the program switched automatic collection off (gc.disable()), so nothing ever frees them: "
    "switch it on, or call gc.collect() at the end of the phase"
)
KEPT_EXCEPTION = (
    "keep str(error), or error.with_traceback(None): an exception that is kept keeps its traceback "
    "(__traceback__), and with it all locals of every frame that it passed"
)
