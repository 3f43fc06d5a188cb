"""What is too small to matter, and what counts as the same: every floor and tolerance, once.

Shares are conventions of everyday speech, kept apart so that they mean the same everywhere: most of
something is half of it, nearly all is four fifths, two rates are the same within a tenth.
"""

from __future__ import annotations

from leakguard.model.units import KB, MB

# Bytes that bookkeeping of interpreter and guard moves in a generation of any program: four pages.
BYTES_FLOOR = 16_384.0

# Bytes a generation of live memory from which a rise is worth a finding: sixteen pages, less moves
# in any process.
NOTABLE_BYTES = 64 * KB

# Growth below this over a run, and below this share of live memory, is what interpreters do; above
# either, a verdict is owed or doubt is said.
MATERIAL_BYTES = 1 * MB
MATERIAL_SHARE = 0.005

# Bytes a generation of builtin objects that something must be behind, and of a buffer that grows:
# half of what is notable in the process as a whole, since they are counted and not sampled.
NOTABLE_OBJECTS = 32 * KB
NOTABLE_BUFFER = 16_384
# Entries are counted exactly, so that a kilobyte a generation behind them is enough.
NOTABLE_ENTRIES = 1_024

# A program that notes down a line about each generation: so many entries of so few bytes a
# generation, a hundred megabytes after ten thousand of them.
RECORDS = 2
RECORD_BYTES = 10 * KB

MOST = 0.5
NEARLY_ALL = 0.8
# Of the bytes of a phase's growth, for a second container in it to be a defect of its own.
OWN_SHARE = 0.1
# Two rates that are counted, and differ only because a round lies at the edge of one of them.
SAME_COUNT = 0.02
SAME_RATE = 0.1


def same(one: float, other: float, tolerance: float) -> bool:
    """Return True where two rates differ by no more than ``tolerance`` of the second."""
    return abs(one - other) <= tolerance * abs(other)
