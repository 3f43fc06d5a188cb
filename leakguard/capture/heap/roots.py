"""The roots of a walk: modules first, then the locals of running functions, then the rest.

What is the program's and its libraries' comes before what is the standard library's: an object of a
task is named by the variable of the program's function that holds it, not by the event loop.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import operator
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextvars import Context
from itertools import compress, repeat
from types import ModuleType
from typing import Any

from leakguard.capture.heap.classes import (
    derives,
    extends_a_package,
    module_file,
    module_namespace,
    module_of,
)
from leakguard.capture.heap.frames import (
    function_name,
    is_standard,
    local_variables,
    running_frames,
)
from leakguard.capture.heap.half_built import is_blank
from leakguard.capture.library import OWN_PACKAGE

Root = tuple[object, str, bool]
_FOR_FRAMEWORKS = f"{OWN_PACKAGE}.integrations."
# The interpreter's own name for the program, and that of a worker which was spawned.
_MAIN = ("__main__", "__mp_main__")
# Modules of the standard library, but that with the table of all modules: it holds modules that the
# program made itself.
_STANDARD = sys.stdlib_module_names - {"sys"}


def is_ours(cls: type) -> bool:
    """Return whether a class belongs to the guard; what its instances hold is not reported.

    A class of the guard that derives from a framework's class, such as a callback or wrapper, does
    not count, because its instances hold objects of the program.
    """
    module = module_of(cls)
    if module.partition(".")[0] != OWN_PACKAGE:
        return False
    return not (module.startswith(_FOR_FRAMEWORKS) and extends_a_package(cls, OWN_PACKAGE))


def module_roots(*, standard: bool) -> Iterator[Root]:
    """Yield the namespaces of the modules of the ``standard`` library, or of all others.

    ``__main__`` comes first, and the guard's own are left out. A module that the program made
    itself, or loaded again from the same file under another name, is no root: what holds it is
    ``sys.modules``.
    """
    modules = [(name, item) for name, item in list(sys.modules.items()) if type(name) is str]
    files: set[str] = set()
    for name, module in sorted(modules, key=lambda entry: entry[0] != "__main__"):
        package = name.partition(".")[0]
        is_wanted = package != OWN_PACKAGE and standard is (package in _STANDARD)
        if is_wanted and _is_imported(name, module, files):
            yield _module_root(name, module)


def own_module_roots() -> Iterator[Root]:
    """Yield the guard's own modules, from which the walk starts last."""
    for name, module in list(sys.modules.items()):
        if type(name) is str and name.partition(".")[0] == OWN_PACKAGE:
            yield _module_root(name, module)


def local_roots(*, standard: bool) -> Iterator[Root]:
    """Yield the locals of running functions of the ``standard`` library, or of all others.

    The main thread comes first, and its outermost function.
    """
    stacks: dict[int, list[Root]] = {}
    for thread, frame in running_frames():
        if is_standard(frame) is not standard:
            continue
        where = function_name(frame)
        stacks.setdefault(thread, [])[:0] = [
            (value, f"local {name} in {where}()", False)
            for name, value in local_variables(frame).items()
        ]
    main = threading.main_thread().ident
    for thread in sorted(stacks, key=lambda thread: thread != main):
        yield from stacks[thread]


def contexts_among(tracked: Sequence[object]) -> list[Context]:
    """Return the contexts of all threads, tasks and callbacks."""
    is_context = map(operator.is_, map(type, tracked), repeat(Context))
    contexts: Iterable[Any] = compress(tracked, is_context)  # millions of objects: no Python loop
    return list(contexts)


def context_roots(contexts: Iterable[Context]) -> list[Root]:
    """Return the values of the context variables of contexts to which no object refers.

    So it is with the context of a running thread. The references inside a context have no names.
    """
    return [
        (value, f"context variable {variable.name}", False)
        for context in contexts
        if not is_blank(context)
        for variable, value in context.items()
    ]


def registry_roots() -> Iterator[Root]:
    """Yield objects that the interpreter keeps in C variables, as far as they can be read."""
    for number in signal.valid_signals():
        handler = _signal.getsignal(number)  # signal.getsignal may compare values
        if handler is not None and type(handler) is not int:
            name = number.name if type(number) is signal.Signals else number
            yield handler, f"signal handler {name}", False
    for name, hook in zip(("firstiter", "finalizer"), sys.get_asyncgen_hooks(), strict=True):
        if hook is not None:
            yield hook, f"sys.get_asyncgen_hooks().{name}", False


def _is_imported(name: str, module: Any, files: set[str]) -> bool:
    """Return whether a module was imported by its name; ``files`` are those of earlier modules."""
    if name in _MAIN or not derives(type(module), ModuleType):
        return True
    file = module_file(module)
    is_again = file in files
    if file is not None:
        files.add(file)
    return module_namespace(module).get("__spec__") is not None and not is_again


def _module_root(name: str, module: Any) -> Root:
    if derives(type(module), ModuleType):
        return module_namespace(module), name, True
    return module, name, False
