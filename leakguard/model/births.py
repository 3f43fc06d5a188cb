"""What was born where, and how much of it is still alive: estimates from sampled allocations."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cohort:
    """Blocks of one birthplace that were born in the same rounds and are still alive.

    Attributes:
        round: the first round they were born in, counted from 0; -1 is before the loop.
        rounds: how many rounds in a row are told together.
        bytes: what their blocks have, estimated without bias.
        error: the standard error of ``bytes``.
        samples: how many of them were recorded; ``bytes`` of few is a rough number.
    """

    round: int
    rounds: int
    bytes: float
    error: float
    samples: int


@dataclass(frozen=True, slots=True)
class Birthplace:
    """A line that allocated in one phase, and what is alive of that.

    A block that is resized is born again, so what grows in one piece is a young cohort, and shows
    in the live total from moment to moment. Objects that the interpreter hands out of its reserve
    (lists, tuples, dicts, floats) are not born again: their line may be that of an earlier owner.

    Attributes:
        phase: the phase of the whole process then, ``outer/inner``; empty outside of phases.
        native: True for memory that C code took from the C library, False for Python's own.
        bytes: all that is alive, estimated; ``error`` is its standard error.
        count: blocks that are alive, estimated.
        samples: how many were recorded.
        place: ``package/module.py:12``; None where no line of Python was running in the thread.
        function: the function it is in; None at the top of a module, or where there is none.
        cohorts: by the time of birth, oldest first; empty where others have more that is old.
        stack: frames, innermost first, of the stack with the most bytes.
    """

    phase: str
    native: bool
    bytes: float
    error: float
    count: float
    samples: int
    place: str | None = None
    function: str | None = None
    cohorts: tuple[Cohort, ...] = ()
    stack: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Births:
    """What the record of births said at one moment.

    Attributes:
        bytes: alive and born since the record began, places that are left out included.
        error: the standard error of ``bytes``.
        share: of the program's CPU time since the record began, how much was recorded.
        interval: the mean distance of two samples of Python's memory, in bytes, at that moment.
        places: those with the most bytes alive, and with the most that is old.
        native_interval: that of C memory; None where that is not recorded.
        samples: how many blocks that are alive were recorded.
    """

    bytes: float
    error: float
    share: float
    interval: float
    places: tuple[Birthplace, ...] = ()
    native_interval: float | None = None
    samples: int = 0
