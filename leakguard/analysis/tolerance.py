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

# Of live memory, what looks leave behind in a generation, at most: 50 to 110 kB were measured in
# trainings of five generations and 190 MB, each looked at, and twice that is allowed for.
LOOKS_LEAVE = 0.0012

# What a run gained in all from which on growth that went on to its end is worth a finding, however
# little a generation adds: half of what is material, since every number behind it agrees.
NOTABLE_TOTAL = 500 * KB
# Objects are counted one by one, so that less of them is enough where memory agrees.
NOTABLE_COUNTED = 200 * KB

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

# A program that notes down a line about each generation: so many entries of so few bytes each, less
# than a page, which after ten thousand generations are a hundred megabytes at most.
RECORDS = 2
RECORD_ENTRY = 4 * KB
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


def notable(
    rate: float, since: int | None, last: int | None, least: float, total: float = NOTABLE_TOTAL
) -> bool:
    """Return True for growth that matters by what a generation adds, or by what it came to.

    Args:
        rate: bytes a generation.
        since: the first generation that shows it.
        last: the generation it was last seen in.
        least: bytes a generation from which on it matters at once.
        total: bytes in all that matter.
    """
    if rate >= least or since is None or last is None:
        return rate >= least
    return rate * (last - since + 1) >= total
