"""Where memory was allocated, and how much of it is alive: estimates from sampled allocations."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cohort:
    """Blocks of one birthplace that were born in the same rounds and are still alive.

    Attributes:
        round: the first round in which the blocks were born, counted from 0; -1 is before the loop.
        rounds: how many consecutive rounds the cohort covers.
        bytes: the size of the blocks, an unbiased estimate.
        error: the standard error of ``bytes``.
        samples: how many of the blocks were sampled; with few samples ``bytes`` is imprecise.
    """

    round: int
    rounds: int
    bytes: float
    error: float
    samples: int


@dataclass(frozen=True, slots=True)
class Birthplace:
    """A line that allocated in one phase, and what of its allocations is alive.

    A block that is resized counts as born again. A buffer that grows in one piece is therefore
    always a young cohort, and its growth shows only in the total of live bytes. An object that the
    interpreter takes from a free list (lists, tuples, dicts, floats) does not count as born again:
    its recorded line may be that of the earlier object.

    Attributes:
        phase: the phase of the whole process at the birth, ``outer/inner``; empty outside phases.
        native: True for memory that C code took from the C library, False for Python's own.
        bytes: estimated bytes that are alive; ``error`` is the standard error.
        count: estimated number of blocks that are alive.
        samples: how many of these blocks were sampled.
        place: ``package/module.py:12``; None if the thread was running no line of Python.
        function: the function that contains the line; None at module level, or without a line.
        cohorts: by the time of birth, oldest first; empty if other places have more old memory.
        stack: frames, innermost first, of the stack with the most bytes.
        entries: of the births of a holder, how many of the samples are its entries themselves, or
            were made while these were initialized.
        device: True for memory on a GPU; its bytes are in no total of live bytes.
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
    entries: int = 0
    device: bool = False


@dataclass(frozen=True, slots=True)
class Births:
    """What the record of births contained at one moment.

    Attributes:
        bytes: bytes born since the record began that are alive, in all places, listed or not.
        error: the standard error of ``bytes``.
        share: the share of the program's CPU time since the record began that was recorded.
        interval: the mean distance between two samples of Python's blocks of up to 512 bytes, in
            bytes, at that moment. Larger blocks have larger distances of their own.
        places: the places with the most live bytes, and those with the most old bytes.
        native_interval: the same for blocks of up to 512 bytes of C memory; None if C memory is
            not recorded.
        samples: how many live blocks were sampled.
        generations: how many generations there were by then, each of them a round of the cohorts;
            None in older files, where only recorded generations are rounds.
    """

    bytes: float
    error: float
    share: float
    interval: float
    places: tuple[Birthplace, ...] = ()
    native_interval: float | None = None
    samples: int = 0
    generations: int | None = None
