"""The sampled record of births: which blocks are alive, and where and when they were made.

Allocations of Python and of C are sampled, one in so many bytes, with the stack, phase and
generation that they were made in; a free removes them. At any moment the live samples say without
bias: so many bytes born at line L in phase P of generation k are still alive. The compiled part
lies in ``record/``; where it was not built, or cannot be used, births are not recorded, and it is
said why.
"""

from leakguard.capture.births.birth_record import BirthRecord, hush, pools_in_sight
from leakguard.capture.births.survivors import Survivor, Survivors

__all__ = ["BirthRecord", "Survivor", "Survivors", "hush", "pools_in_sight"]
