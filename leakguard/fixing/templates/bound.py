"""Keeps the newest entries of a container, a few generations of them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from leakguard.fixing.clue import Clue
from leakguard.fixing.source import Addition, Source, last_name

# How many generations of growth are kept: the loop may read entries of the one before.
_GENERATIONS = 2
# A program may read a window of older entries. A quarter of the run leaves most of it to see that
# memory stays flat once the window is full.
_PART = 4
_AT_THE_END = ("append", "extend", "+=")
_CLOSABLE = ("Connection", "socket", "TextIOWrapper", "BufferedReader", "BufferedWriter", "FileIO",
             "SummaryWriter", "FileHandler")  # fmt: skip


def bound(clue: Clue, source: Source) -> Iterator[tuple[str, str]]:
    """Drop the oldest entries after each statement that adds some, or bound a cache or a deque."""
    if clue.cached is not None:
        yield from _bounded_cache(clue, source)
        return
    if clue.name is None or clue.chain:
        return
    for kept in _sizes(clue):
        for added in source.additions(clue.name):
            dropping = _dropping(added, clue, source, kept)
            if dropping is not None:
                new = [added.statement, *source.parsed(dropping)]
                title = f"keep the newest {kept:,} entries of {source.code(added.owner)}"
                yield title, source.replaced({added.statement: new})
        yield from _bounded_deque(clue, source, kept)


def _sizes(clue: Clue) -> tuple[int, ...]:
    """Return how many entries to keep: few, and then as many as a part of a long run added."""
    few = clue.per_round * _GENERATIONS
    many = clue.per_round * clue.generations // _PART
    return (few, many) if many > few * _GENERATIONS else (few,)


def _dropping(added: Addition, clue: Clue, source: Source, kept: int) -> str | None:
    """Return the statement that drops the oldest entries; None for an owner that a call returns."""
    if any(isinstance(part, cst.Call) for part in source.nodes(added.owner)):
        return None
    owner = source.code(added.owner)
    kind = (clue.container or "").rpartition(".")[2]
    close = ".close()" if clue.short_type in _CLOSABLE else ""
    if kind == "tuple" and added.how == "+=":
        return f"{owner} = {owner}[-{kept}:]\n"
    if kind == "set" or added.how == "add":
        return f"while len({owner}) > {kept}:\n    {owner}.pop()\n"
    if kind == "deque":
        return f"while len({owner}) > {kept}:\n    {owner}.popleft()\n"
    if added.how in ("[]", "update", "setdefault") and kind != "list":
        return f"while len({owner}) > {kept}:\n    {owner}.pop(next(iter({owner}))){close}\n"
    if added.how in _AT_THE_END and close:
        return f"while len({owner}) > {kept}:\n    {owner}.pop(0){close}\n"
    return f"del {owner}[:-{kept}]\n" if added.how in _AT_THE_END else None


def _bounded_deque(clue: Clue, source: Source, kept: int) -> Iterator[tuple[str, str]]:
    """Yield the source with ``deque(maxlen=...)`` where the container is an empty deque."""
    for node in source.nodes():
        target = node.targets[0].target if isinstance(node, cst.Assign) else None
        target = node.target if isinstance(node, cst.AnnAssign) else target
        if target is None or last_name(target) != clue.name:
            continue
        value = node.value  # type: ignore[attr-defined]
        if isinstance(value, cst.Call) and last_name(value.func) == "deque" and not value.args:
            bounded = cst.parse_expression(f"{source.code(value.func)}(maxlen={kept})")
            yield f"keep the newest {kept:,} entries", source.replaced({value: bounded})


def _bounded_cache(clue: Clue, source: Source) -> Iterator[tuple[str, str]]:
    """Yield the source with a bound in the decorator of the cached function."""
    for node in source.nodes():
        if not isinstance(node, cst.FunctionDef) or node.name.value != clue.cached:
            continue
        for decorator in node.decorators:
            call = decorator.decorator
            function = call.func if isinstance(call, cst.Call) else call
            if last_name(function) not in ("lru_cache", "cache"):
                continue
            named = source.code(function).replace(".cache", ".lru_cache")
            if named == "cache":
                return
            size = cst.parse_expression(f"{named}(maxsize={max(16, clue.per_round)})")
            yield f"bound the cache of {clue.cached}", source.replaced({call: size})
