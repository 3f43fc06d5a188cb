"""Chooses the fix by the growing type, its holder, and the observed traits of both.

A fix depends on the last hop to the held object: an attribute is overwritten, a key of a dict is
removed, a list is cleared. For a container of the runtime, the fix is to remove what the program
registered in it.
"""

from __future__ import annotations

import re

from leakguard.analysis.knowledge import KEPT_EXCEPTION, NATIVE_ADVICE, place_of
from leakguard.analysis.knowledge.known_leaks import native_leaks
from leakguard.analysis.words import LISTED
from leakguard.model import Finding, Holder, Run
from leakguard.model.census import GRAPH_NODE

_BY_NAME = (
    (
        ("environment", "env"),
        "make each environment once and re-aim it with reset(); drop every list that collects them",
    ),
    (
        ("agent", "model", "network", "policy", "actor", "critic"),
        "drop the last reference to what was replaced, or copy the weights into the old object "
        "(load_state_dict copies already)",
    ),
)
_CARRIED = (
    "cut the graph where a value is kept or carried over: total += loss.item() (or loss.detach()) "
    "in sums and lists, hidden = hidden.detach() between rounds, averages under torch.no_grad(); a "
    "tensor with a grad_fn keeps the whole graph behind it"
)
_GRAPH = (
    "store numbers, not tensors: loss.item(), or tensor.detach() when the values are needed; a "
    "tensor with a grad_fn keeps its whole graph alive"
)
_VIEWS = (
    "copy what is needed before it is kept: tensor[:5].clone(), array[:5].copy(); each entry is a "
    "view, and a view keeps the whole memory that it was cut from"
)
_STATES = (
    "keep the best few state dicts only, or write them to disk (torch.save) and keep the path; a "
    "copy of a state_dict is as large as the model"
)
_CALLBACKS = (
    "unregister each function when its work is done ({path}.remove(f)), or register it once: a "
    "function keeps everything that it closes over"
)
_OPTIMIZERS = (
    "drop the optimizer and its scheduler when their generation ends, or make them once and reset "
    "them: an optimizer keeps its parameters with two moments each, and a "
    "scheduler keeps its optimizer"
)
_ARRAY = (
    "clear the collection of these arrays once it is summarized; bound it (deque(maxlen=...)) if "
    "the oldest may be lost"
)
_ANY = (
    "what holds them is unknown: look for a list or dict that only grows (clear it in every "
    "generation, or bound it), and for what is registered somewhere and never taken back"
)
UNHELD_ADVICE = (
    "what holds them is unknown: no inspected container gained as many. Look for "
    "many small ones, for cycles that wait for the collector, and for an extension module that "
    "keeps a reference too many (try its latest release)"
)

# Advice on how to bound each type of container.
_BOUNDS = {
    "list": "clear it in every generation, or bound it (deque(maxlen=...)) if the oldest entries "
    "may be lost",
    "dict": "remove each entry when its work is done; if old ones may be lost, bound it "
    "(functools.lru_cache, an OrderedDict that pops its oldest)",
    "collections.OrderedDict": "pop the oldest entry (popitem(last=False)) when it is too large",
    "collections.defaultdict": "remove unneeded keys: reading a missing key adds it",
    "collections.Counter": "remove unneeded keys, or keep the largest (most_common)",
    "set": "discard what is no longer needed, or hold it weakly (weakref.WeakSet)",
    "collections.deque": "give it a bound: deque(maxlen=...)",
    "tuple": "start a new one each generation instead of adding to it (t += (x,))",
}
_EXTENDED = (
    "{path} is one object that is extended every generation: start a new one, or keep a bounded "
    "part of it"
)
_ANY_BOUND = "find what adds to it and never removes; remove what is no longer needed, or bound it"
_STATE_DICTS = ("collections.OrderedDict", "dict")
_TENSORS = ("torch.Tensor", "torch.nn.parameter.Parameter")
_FUNCTIONS = ("function", "method", "functools.partial", "builtin_function_or_method")
_OPTIMIZER = re.compile(r"^torch\.optim\.|Optimizer$")
_LOCAL = re.compile(r"^local (?P<name>\S+) in (?P<function>.+)\(\)$")
_CELL = re.compile(r"^closure cell (?P<name>\S+) of (?P<function>.+)$")


def remedy(type_name: str, holder: Holder | None = None) -> str:
    """Return the fix for objects of a type with this holder, as an instruction."""
    if holder is None:
        return _without_holder(type_name)
    where = f" ({holder.path})"
    if GRAPH_NODE in (type_name, holder.element):
        return _CARRIED + where
    place = place_of(holder)
    if _passes_an_error(holder) and (place is None or place.path is None):
        return KEPT_EXCEPTION + where
    if holder.graph_nodes or "graphs" in holder.traits:
        return _GRAPH + where
    if place is not None:
        return place.fix.format(path=holder.path)
    if "views" in holder.traits:
        return _VIEWS + where
    if _is_chain(holder):
        return _unlinked(holder)
    if _keeps_states(type_name, holder):
        return _STATES + where
    if holder.element in _FUNCTIONS and holder.path.endswith("[*]"):
        return _CALLBACKS.format(path=holder.path.removesuffix("[*]"))
    if _OPTIMIZER.search(type_name) and holder.path.endswith("[*]"):
        return _OPTIMIZERS + where
    if not holder.path.endswith("[*]"):
        return extended(type_name, holder)
    return _by_name(type_name, where) or f"{holder.path} only grows: {_bound_of(holder)}"


def extended(type_name: str, holder: Holder | None) -> str:
    """Return the fix for an object of a type that is extended in every generation."""
    if holder is None:
        return f"find the {type_name} that is extended every generation, and bound it"
    return _EXTENDED.format(path=holder.path)


def release(type_name: str, holder: Holder) -> str:
    """Return how to release one object at the end of a path, by the last hop to it."""
    if _passes_an_error(holder):
        return f"{KEPT_EXCEPTION} ({holder.path})"
    last = holder.trace[-1].label if holder.trace else ""
    local, cell = _LOCAL.match(last), _CELL.match(last)
    if local is not None:
        return f"end {local['function']}(), or del {local['name']} in it, when it is replaced"
    if cell is not None:
        return (
            f"drop {cell['function']}, which keeps {cell['name']} in a closure, or give it what it "
            "needs as an argument"
        )
    if last.startswith("."):
        return f"overwrite {holder.path} or set it to None when it is replaced"
    if last.startswith("["):
        return f"remove it from {holder.path} when it is replaced"
    return _by_name(type_name, f" ({holder.path})") or f"drop {holder.path} when it is replaced"


def name_of(holder: Holder | None) -> str | None:
    """Return the usual name of a holder whose path does not show it; otherwise None."""
    if holder is None:
        return None
    if _is_chain(holder):
        return holder.path.removesuffix("[*]")
    place = place_of(holder)
    return None if place is None else place.called


def _without_holder(type_name: str) -> str:
    if type_name == GRAPH_NODE:
        return _CARRIED
    return _by_name(type_name, "") or (_ARRAY if type_name == "numpy.ndarray" else _ANY)


def _by_name(type_name: str, where: str) -> str | None:
    short = type_name.rsplit(".", 1)[-1].lower()
    found = (text for endings, text in _BY_NAME if short.endswith(endings))
    text = next(found, None)
    return None if text is None else text + where


def _passes_an_error(holder: Holder) -> bool:
    """Return whether the entries are exceptions, or a traceback lies on the path."""
    hops = (*holder.trace, *holder.onward)
    return "exceptions" in holder.traits or any(hop.type == "traceback" for hop in hops)


def _is_chain(holder: Holder) -> bool:
    return "chain" in holder.traits and bool(holder.trace)


def _unlinked(holder: Holder) -> str:
    """Return how to cut a chain of instances: at the reference from each one to the next."""
    link = holder.trace[-1]
    name = link.type.rpartition(".")[2]
    if link.label.startswith("closure cell") or name == "partial":
        way = "its arguments" if name == "partial" else link.label
        return (
            f"each {name} keeps the one that it wraps, by {way}, so all of them stay alive: "
            "wrap the original each time, or remove the old wrapper first"
        )
    return (
        f"each {name} keeps the one before it by {link.label}, so that the whole chain stays alive "
        f"({holder.path.removesuffix('[*]')}): set {link.label} to None when a generation ends, "
        "keep a number in its place, or start from the original instead of the previous one"
    )


def _keeps_states(type_name: str, holder: Holder) -> bool:
    """Return whether the entries are dicts of tensors, or records that contain such a dict."""
    if type_name not in _TENSORS:
        return False
    types = [holder.element, *(hop.type for hop in holder.onward[:-1])]
    return any(name in _STATE_DICTS for name in types)


def _bound_of(holder: Holder) -> str:
    """Return how to bound a container, by its type."""
    container = holder.trace[-2].type if len(holder.trace) > 1 else ""
    return _BOUNDS.get(container, _ANY_BOUND)


def native_of_line(finding: Finding) -> str:
    """Return the fix of native memory with the line that allocates it."""
    return f"memory that {_made(finding)} allocates is never freed: {finding.fix}"


def native_without_line(run: Run) -> str:
    """Return how to find what allocates native memory.

    If memray traced a generation and saw no line, the fix says so. A function that ctypes looks up
    by itself is not the one that memray has replaced, so memray does not see calls of it.
    """
    if any(site.tracer == "memray" for shot in run.snapshots for site in shot.sites):
        how = "memray traced a generation and saw no line: it does not see what ctypes calls"
    else:
        how = (
            "With memray installed (the extra `memray`), a traced generation names the line that "
            "calls into C"
        )
    return f"{NATIVE_ADVICE}. {how}; `leakguard explain native`{_known_native(run)}"


def _known_native(run: Run) -> str:
    """Return a sentence with the known native leaks of the releases that ran; empty if none."""
    leaks = native_leaks(run.info.packages)[:LISTED]
    said = [f"{k.library} {ran} by {k.trigger} (see {k.source})" for ran, k in leaks]
    return f". Known to leak: {'; '.join(said)}" if said else ""


def _made(finding: Finding) -> str:
    """Return the program's line, with the library's line if the library allocates."""
    innermost = next(iter(finding.created_stack), finding.created_at)
    through = "" if innermost == finding.created_at else f" (through {innermost})"
    return f"{finding.created_at}{through}"
