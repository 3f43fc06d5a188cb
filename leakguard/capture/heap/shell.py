"""References that IPython itself keeps to results and errors of cells, besides the names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType, TracebackType
from typing import Any

from leakguard.capture.heap.attributes import instance_dict
from leakguard.capture.heap.classes import derives, module_namespace, namespace
from leakguard.capture.heap.places import RESULTS, Assignable

_PRINTERS = ("InteractiveTB", "SyntaxTB")
_RECENT = ("_", "__", "___")
#: What forgets all results of cells. ``%reset -f out`` alone keeps the last three, which the shell
#: has under hidden names, too.
FORGET_RESULTS = (
    "get_ipython().displayhook.flush(); "
    'get_ipython().push(dict.fromkeys(["_", "__", "___"], ""), interactive=False)'
)


def _attributes(item: Any) -> dict[Any, Any]:
    return instance_dict(item) or {}


def _shell() -> dict[Any, Any]:
    """Return the attributes of the running shell; empty if none runs."""
    module = sys.modules.get("IPython.core.interactiveshell")
    names = module_namespace(module) if type(module) is ModuleType else {}
    cls = names.get("InteractiveShell")
    running = namespace(cls).get("_instance") if isinstance(cls, type) else None
    return {} if running is None else _attributes(running)


def last_cell() -> Iterator[Assignable]:
    """Yield the result of the last cell; IPython replaces it when the next cell ends."""
    traits = _shell().get("_trait_values")
    if type(traits) is dict and "last_execution_result" in traits:
        yield Assignable(traits, "last_execution_result", "", "name")


def printed_errors() -> Iterator[Assignable]:
    """Yield what the printers of tracebacks keep of the last one."""
    shell = _shell()
    for name in _PRINTERS:
        attributes = _attributes(shell.get(name))
        for key, value in list(attributes.items()):
            if type(key) is str and _is_error(value):
                yield Assignable(attributes, key, f"get_ipython().{name}", "attribute")


def recent_results() -> Iterator[Assignable]:
    """Yield what the display of results keeps of the last three, and the hidden names of all."""
    attributes = _attributes(_shell().get("displayhook"))
    for key in _RECENT:
        if key in attributes:
            yield Assignable(attributes, key, "get_ipython().displayhook", "attribute")
    hidden = _shell().get("user_ns_hidden")
    for key in list(hidden) if type(hidden) is dict else ():
        if type(key) is str and RESULTS.fullmatch(key):
            yield Assignable(hidden, key, "get_ipython().user_ns_hidden", "entry")


def _is_error(value: Any) -> bool:
    return type(value) is TracebackType or derives(type(value), BaseException)
