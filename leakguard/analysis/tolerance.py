"""What is too small to matter, and what counts as equal: limits that several files share.

A value is derived, measured, or chosen; its comment says which. A chosen one is a convention, or a
round number that the recorded runs confirm. ``make weigh`` measures how the verdicts depend on it,
by halving and doubling it (reports/judge/weights.md).
"""

from __future__ import annotations

from leakguard.model.units import KB, MB

# -- how many looks, and shares ------------------------------------------------------------------

# Looks or generations. Two show one change, and one change is no trend.
FEWEST_LOOKS = 3

# Shares by convention, the same wherever the word is used: most means half, nearly all means four
# fifths, and a thing below a tenth of a larger one is part of it. Chosen, not derived.
MAJORITY = 0.5
NEARLY_ALL = 0.8
OWN_SHARE = 0.1
# Two counts per generation are equal within 2 %: they differ if a generation lies at the edge of
# one of them, one in fifty. Two rates, one of them sampled, are equal within 10 %. Chosen.
SAME_COUNT = 0.02
SAME_RATE = 0.1
# Growth that added less than this share of its expected amount since has stopped. Chosen between
# none and all, in favour of the leak: growth at half its rate is still reported.
WENT_ON_SHARE = 0.25

# -- bytes a generation --------------------------------------------------------------------------

# Bytes: four pages of 4 KiB. Smaller changes say nothing about the program, because interpreter and
# guard write notes in any generation and the kernel counts memory in pages. Chosen.
BYTES_FLOOR = 16_384.0
# Bytes per generation at which a rise of live memory matters at once. Chosen: four times the floor,
# rounded. A program that loses it takes 64 MB in a thousand generations.
NOTABLE_BYTES = 64 * KB
# Bytes per generation of builtin objects. Chosen: half of the above, because the census counts them
# one by one and has less noise.
NOTABLE_OBJECTS = 32 * KB
# Bytes per generation of one buffer. Its size is read exactly, so the floor is enough.
NOTABLE_BUFFER = BYTES_FLOOR
# Bytes per generation behind the entries of a container. Entries are counted exactly, so the limit
# is the least that is worth a line. Chosen as a kilobyte.
NOTABLE_ENTRIES = 1_024

# Share of live memory that looks leave per generation, at most. Measured: 50 to 110 kB in trainings
# of five generations and 190 MB, each looked at; twice that is allowed.
LOOKS_LEAVE = 0.0012

# -- bytes in all --------------------------------------------------------------------------------

# Bytes over a run. Interpreters gain less by themselves (imports, caches, arenas of 1 MiB); growth
# beyond it needs a verdict or a stated doubt. In a process above 200 MB it is this share of live
# memory. Both are chosen.
MATERIAL_BYTES = 1 * MB
MATERIAL_SHARE = 0.005
# Bytes that growth comes to in a day at the pace of the run, from which on it is no trifle however
# little a generation adds. Chosen: a service that is begun anew once a week loses 7 GB by then.
MATERIAL_A_DAY = 1_000 * MB
# Total bytes that slow growth must reach. Chosen: half of what is material, because growth that
# went on to the end is surer than one rise; less again for objects, which are counted one by one.
NOTABLE_TOTAL = 500 * KB
NOTABLE_COUNTED = 200 * KB

# A program that notes a line about each generation leaks nothing: at most this many entries, of
# this many bytes each (a page), and this many bytes in all per generation. Chosen: at most 100 MB
# after ten thousand generations.
RECORDS = 2
RECORD_ENTRY = 4 * KB
RECORD_BYTES = 10 * KB


def same(one: float, other: float, tolerance: float) -> bool:
    """Return True if two rates differ by no more than ``tolerance`` of the second."""
    return abs(one - other) <= tolerance * abs(other)


def notable(
    rate: float, since: int | None, last: int | None, least: float, total: float = NOTABLE_TOTAL
) -> bool:
    """Return True for growth that matters by its rate or by its total.

    Args:
        rate: bytes per generation.
        since: the first generation that shows it.
        last: the generation in which it was last seen.
        least: bytes per generation from which it matters at once.
        total: bytes in all that matter.
    """
    if rate >= least or since is None or last is None:
        return rate >= least
    return rate * (last - since + 1) >= total
