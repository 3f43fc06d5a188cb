"""What is too small to matter, and what counts as equal: limits that several files share.

Each value is derived, measured, or chosen; its comment says which. A chosen value is a convention,
or a round number that the recorded runs confirm. ``make weigh`` halves and doubles each value to
measure how the verdicts depend on it (reports/judge/weights.md).
"""

from __future__ import annotations

from leakguard.model.units import KB, MB

# -- how many looks, and shares ------------------------------------------------------------------

# The fewest looks or generations for a trend. Two show one change, and one change is no trend.
FEWEST_LOOKS = 3

# Shares by convention, the same wherever the words are used. "Most" means half, "nearly all" means
# four fifths, and a thing below a tenth of a larger thing belongs to the larger one. Chosen, not
# derived.
MAJORITY = 0.5
NEARLY_ALL = 0.8
OWN_SHARE = 0.1
# Two counts per generation are equal within 2 %: one generation in fifty at the edge of a range may
# be included in only one of them. Two rates, one of them sampled, are equal within 10 %. Chosen.
SAME_COUNT = 0.02
SAME_RATE = 0.1
# Growth has stopped if it later added less than this share of the expected amount. Chosen between
# none and all, in favour of reporting: growth that continues at half its rate is still reported.
WENT_ON_SHARE = 0.25

# -- bytes per generation ------------------------------------------------------------------------

# Bytes: four pages of 4 KiB. Smaller changes are not evidence about the program, because the
# interpreter and the guard allocate a little in any generation and the kernel counts memory in
# pages. Chosen.
BYTES_FLOOR = 16_384.0
# Bytes per generation at which a rise of live memory matters at once. Chosen: four times the floor,
# rounded. A program that leaks this much gains 64 MB in a thousand generations.
NOTABLE_BYTES = 64 * KB
# The same limit for builtin objects, in bytes per generation. Chosen: half of the above, because
# the census counts objects one by one and has less noise.
NOTABLE_OBJECTS = 32 * KB
# The same limit for one buffer, in bytes per generation. Its size is read exactly, so the floor is
# enough.
NOTABLE_BUFFER = BYTES_FLOOR
# The same limit for what the entries of a container retain, in bytes per generation. Entries are
# counted exactly, so the limit is the least that is worth a line of a report. Chosen as a kilobyte.
NOTABLE_ENTRIES = 1_024

# The largest share of live memory that looks leave behind per generation. Measured: 50 to 110 kB in
# training runs of five generations and 190 MB with a look in each; twice that is allowed.
LOOKS_LEAVE = 0.0012

# -- bytes in all --------------------------------------------------------------------------------

# Bytes over a whole run. An interpreter by itself gains less (imports, caches, arenas of 1 MiB).
# Larger growth needs a verdict or a stated doubt. In a process above 200 MB, the limit is the share
# MATERIAL_SHARE of live memory. Both are chosen.
MATERIAL_BYTES = 1 * MB
MATERIAL_SHARE = 0.005
# Bytes per day, at the pace of the run, from which growth matters however little a generation adds.
# Chosen: a service that is restarted once a week loses 7 GB in that time.
MATERIAL_A_DAY = 1_000 * MB
# Total bytes that slow growth must reach. Chosen: half of what is material, because growth that
# continues to the end is more certain than a single rise. The limit for objects is lower again,
# because they are counted one by one.
NOTABLE_TOTAL = 500 * KB
NOTABLE_COUNTED = 200 * KB

# A program that keeps a short record of each generation does not leak. Such records have at most
# RECORDS entries per generation, RECORD_ENTRY bytes (a page) per entry, and RECORD_BYTES bytes in
# total per generation. Chosen: this adds up to at most 100 MB after ten thousand generations.
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
        since: the first generation that shows the growth.
        last: the last generation that shows the growth.
        least: bytes per generation from which growth matters at once.
        total: total bytes from which slower growth matters.
    """
    if rate >= least or since is None or last is None:
        return rate >= least
    return rate * (last - since + 1) >= total
