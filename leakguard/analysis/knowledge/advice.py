"""Advice that does not depend on a container."""

from __future__ import annotations

NATIVE_ADVICE = (
    "the objects that were counted do not gain it, so it may lie in C code: see which calls of the "
    "phase make something that wants a close(), free() or destroy() of its own, and which objects "
    "of extension modules are kept"
)
BEHIND_ADVICE = (
    "each keeps memory of its library that no count of objects shows, and a slice or a view keeps "
    "all that it was cut from: copy what is needed of it before it is kept"
)
GONE_ADVICE = (
    "the program let go of it when its loop was over, before the last look at who holds what: end "
    "the run inside the function that runs the loop (with LeakGuard(...) as guard, "
    "guard.generations(...)), or let it run longer, so that more of its generations are looked at"
)
POOLS_ADVICE = (
    "the objects that were counted do not gain it, so an extension module may have got blocks or "
    "objects and not given them back (a reference too many): see which call the growth follows, "
    "and try that package's latest release"
)
NO_COLLECTOR = (
    "the program switched automatic collection off (gc.disable()), so nothing ever frees them: "
    "switch it on, or call gc.collect() at the end of the phase"
)
KEPT_EXCEPTION = (
    "keep str(error), or error.with_traceback(None): an exception that is kept keeps its traceback "
    "(__traceback__), and with it all locals of every frame that it passed"
)
