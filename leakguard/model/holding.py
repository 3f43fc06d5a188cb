"""What holds memory at one moment and may go, with the statement that lets it go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: Why something may go; those that a person misses least come first.
HoldingKind = Literal["exception", "output", "cycles", "figures", "cache", "view", "variable"]


@dataclass(frozen=True, slots=True)
class Holding:
    """One thing that a program holds, and a statement that would let it go.

    Attributes:
        what: the holder as a person would call it: ``Out``, ``the last exception``, ``frames``.
        statement: what to run in the program.
        bytes: what only these references keep alive, arrays and tensors included. Memory that
            extension modules keep beside their objects is not in it. Of ``cycles`` it is the most
            that may be released: what C code holds looks the same.
        type: qualified type of what is held; None where it is many things.
    """

    kind: HoldingKind
    what: str
    statement: str
    bytes: int
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Holdings:
    """What may go, ranked, of so many bytes in all objects."""

    ranked: tuple[Holding, ...]
    bytes: int
