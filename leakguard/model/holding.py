"""What holds memory at one moment and could be released, with the statement that releases it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

#: Why something could be released; the kinds that a user is least likely to need come first. A
#: ``variable`` is in use as far as one can tell, and the others may go.
HoldingKind = Literal[
    "exception", "output", "cycles", "figures", "cache", "duplicates", "view", "graph", "variable"
]


@dataclass(frozen=True, slots=True)
class Holding:
    """One thing that a program holds, and a statement that would release it.

    Attributes:
        what: the holder as a person would call it: ``Out``, ``the last exception``, ``frames``.
        statement: what to run in the program.
        bytes: bytes that only these references keep alive, arrays and tensors included. Memory that
            extension modules allocate outside their objects is not included. For ``cycles`` this
            is an upper limit, because objects that C code holds may look like garbage too.
        type: qualified type of what is held; None for many things.
    """

    kind: HoldingKind
    what: str
    statement: str
    bytes: int
    type: str | None = None

    @property
    def may_go(self) -> bool:
        """Whether the program seems not to need it."""
        return self.kind != "variable"


@dataclass(frozen=True, slots=True)
class Holdings:
    """What could be released, ranked.

    Attributes:
        ranked: what may go comes first, then the variables that hold the most.
        bytes: the size of all objects.
        came_free: how many bytes fewer there are than at the look before; None at the first look.
        gone: what the look before said may go, and is no longer there.
    """

    ranked: tuple[Holding, ...]
    bytes: int
    came_free: int | None = None
    gone: tuple[Holding, ...] = ()


def since(before: Holdings | None, now: Holdings) -> Holdings:
    """Return ``now`` with what came free since the look before."""
    if before is None:
        return now
    statements = {holding.statement for holding in now.ranked}
    gone = tuple(h for h in before.ranked if h.statement not in statements)
    return replace(now, came_free=before.bytes - now.bytes, gone=gone)
