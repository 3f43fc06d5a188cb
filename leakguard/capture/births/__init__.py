"""The sampled record of births: which blocks are alive, and where and when they were made.

Allocations of Python and of C are sampled, one sample per interval of bytes. A sample has the
stack, the phase and the generation in which the block was made; freeing the block removes it. From
the live samples, an unbiased estimate follows at any moment: how many bytes that were born at line
L in phase P of generation k are still alive.

The compiled part lies in ``record/``. If it was not built, or cannot be used, births are not
recorded, and ``BirthRecord.problem`` states the reason.
"""

from leakguard.capture.births.birth_record import (
    FIRST_INTERVAL,
    INTERFACE,
    BirthRecord,
    births_in_copy,
    doubled_bytes,
    held_bytes,
    hush,
    pools_in_sight,
    survivors_in_copy,
)
from leakguard.capture.births.survivors import Belonging, Survivor, Survivors, scaled, thinned

__all__ = [
    "FIRST_INTERVAL",
    "INTERFACE",
    "Belonging",
    "BirthRecord",
    "Survivor",
    "Survivors",
    "births_in_copy",
    "doubled_bytes",
    "held_bytes",
    "hush",
    "pools_in_sight",
    "scaled",
    "survivors_in_copy",
    "thinned",
]
