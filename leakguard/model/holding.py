"""What holds memory at one moment and could be released, with the statement that releases it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: Why something could be released; the kinds that a user is least likely to need come first.
HoldingKind = Literal["exception", "output", "cycles", "figures", "cache", "view", "variable"]


@dataclass(frozen=True, slots=True)
class Holding:
    """One thing that a program holds, and a statement that would release it.

    Attributes:
        what: the holder as a person would call it: ``Out``, ``the last exception``, ``frames``.
        statement: what to run in the program.
        bytes: bytes that only these references keep alive, arrays and tensors included. Memory that
            extension modules allocate outside their objects is not included. For ``cycles`` this
            is an upper limit, because objects that C code holds look like garbage too.
        type: qualified type of what is held; None for many things.
    """

    kind: HoldingKind
    what: str
    statement: str
    bytes: int
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Holdings:
    """What could be released, ranked; ``bytes`` is the size of all objects."""

    ranked: tuple[Holding, ...]
    bytes: int
