"""Empties a container when a round of the loop begins."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from leakguard.fixing.clue import Clue
from leakguard.fixing.source import Loop, Source

_CLEARED = ("list", "dict", "set", "deque", "OrderedDict", "defaultdict", "Counter")
_MOST_LOOPS = 2  # loops in which it is tried


def clear(clue: Clue, source: Source) -> Iterator[tuple[str, str]]:
    """Clear the container first in the body of an outermost loop from which it can be named.

    First and not last, so that ``continue`` does not pass it, and what follows the loop still finds
    the entries of the last round.
    """
    kind = (clue.container or "").rpartition(".")[2]
    if clue.expression is None or kind not in _CLEARED or clue.chain:
        return
    loops = [loop for loop in source.rounds(clue.function) if _names_it(clue, source, loop)]
    # The loop of the program comes after those that prepare it.
    for loop in reversed(sorted(loops, key=partial(_weight, source))[-_MOST_LOOPS:]):
        if isinstance(loop.body, cst.IndentedBlock):
            first = loop.body.body[0]
            emptied = source.parsed(f"{clue.expression}.clear()\n")
            after = source.replaced({first: [*emptied, first]})
            yield f"clear {clue.expression} when a round begins", after


def _weight(source: Source, loop: Loop) -> int:
    """Return how many calls a loop has; a program's own loop calls more than one that prepares."""
    return sum(isinstance(node, cst.Call) for node in source.nodes(loop))


def _names_it(clue: Clue, source: Source, loop: Loop) -> bool:
    """Return whether the root of the path exists where the loop is."""
    root = (clue.expression or "").partition(".")[0]
    around = source.function_of(loop)
    scope: cst.CSTNode = source.module if clue.function is None or around is None else around
    names = (n.value for n in source.nodes(scope) if isinstance(n, cst.Name))
    return root in names and not _is_repeated(source, loop)


def _is_repeated(source: Source, loop: Loop) -> bool:
    """Return whether the loop is in a method, which a round calls more likely than contains it."""
    around = source.function_of(loop)
    if around is None:
        return False
    return any(isinstance(upper, cst.ClassDef) for upper in source.above(around))
