"""What is too small to matter, and what counts as equal: limits that several files share.

Each value is derived, measured, or chosen; its comment says which. A chosen value is a convention,
or a round number that the recorded runs confirm. Its worth is how many reports of 226 recorded runs
change if it is halved or doubled: ``make weigh`` measures it (reports/judge/weights.md). "3 of 12"
are 3 of the first 12 that were tried; the others may change, too.
"""

from __future__ import annotations

from leakguard.model.units import KB, MB

# -- how many looks, and shares ------------------------------------------------------------------

# The fewest looks or generations for a trend. Two show one change, and one change is no trend.
# Worth: halved 12 of 12, doubled 1 of 12.
FEWEST_LOOKS = 3

# By convention: "most" means at least half, wherever the word is used.
# Worth: halved 3 of 12, doubled 4 of 12.
MAJORITY = 0.5
# By convention: "nearly all" means at least four fifths, wherever the words are used.
# Worth: halved 3 of 12, doubled 28.
NEARLY_ALL = 0.8
# A part that matters beside others although it is not most: at least a third of the whole. Chosen
# above a quarter: a float has 24 bytes, but its memory block has 32, so a quarter of the growth by
# floats belongs to no counted object; and below a half: what a line calls makes objects, too.
PLURALITY = 1 / 3
# By convention: less than a tenth of a whole is negligible, and from a tenth on, a part of a whole
# is considered on its own.
# Worth: halved 1, doubled 0.
OWN_SHARE = 0.1
# Two counts per generation are equal if they differ by at most this share. Chosen: of fifty
# generations, one at the edge of the range may be included in only one of the two counts.
# Worth: halved 0, doubled 0.
SAME_COUNT = 0.02
# Growth has stopped if it later added less than this share of the expected amount. Chosen between
# none and all, in favour of reporting: growth that continues at half its rate is still reported.
# The growth of a phase, or the bytes of the line of a graph, may differ by this share from what
# they explain (measured for graphs: 12 %).
# Worth: halved 0, doubled 0.
WENT_ON_SHARE = 0.25

# -- bytes per generation ------------------------------------------------------------------------

# Bytes: four pages of 4 KiB. Smaller changes are not evidence about the program, because the
# interpreter and the guard allocate a little in any generation and the kernel counts memory in
# pages. Chosen.
# Worth: halved 3, doubled 3.
BYTES_FLOOR = 16_384.0
# A rise of live memory by at least this many bytes per generation matters, however small its total
# is. Chosen: four times BYTES_FLOOR, rounded. A program that leaks this much gains 64 MB in a
# thousand generations.
# Worth: halved 1, doubled 0.
NOTABLE_BYTES = 64 * KB
# A container is reported if its entries retain at least this many more bytes in each generation.
# Chosen: a kilobyte is the least that is worth a line of a report, and entries are counted exactly.
# Worth: halved 0, doubled 0.
NOTABLE_ENTRIES = 1_024

# -- bytes in all --------------------------------------------------------------------------------

# Bytes over a whole run at which growth needs a verdict or a stated doubt. Chosen: an interpreter
# by itself gains less (imports, caches, arenas of 1 MiB).
# Worth: halved 1 of 12, doubled 1 of 12.
MATERIAL_BYTES = 1 * MB
# Share of live memory per generation at which undecided growth needs a stated doubt. It applies to
# a process above 200 MB, where this share is more than MATERIAL_BYTES. Chosen.
# Worth: halved 0, doubled 0.
MATERIAL_SHARE = 0.005
# Bytes per day, at the pace of the run, from which growth matters however little a generation adds.
# Chosen: a service that is restarted once a week loses 7 GB in that time.
# Worth: halved 0, doubled 0.
MATERIAL_A_DAY = 1_000 * MB
# Total bytes that slow growth must reach to matter. Chosen: half of MATERIAL_BYTES, because growth
# that continues to the end is more certain than a single rise.
# Worth: halved 0, doubled 1 of 12.
NOTABLE_TOTAL = 500 * KB
# Slow growth of counted objects matters if it adds up to at least this many bytes. Slow growth of
# live memory below this total does not make a run undecided. Chosen below NOTABLE_TOTAL, because
# objects are counted one by one.
# Worth: halved 2, doubled 0.
NOTABLE_COUNTED = 200 * KB

# The most entries per generation in a short record that a program keeps of each generation. Such a
# record is no leak. Chosen.
# Worth: halved 1 of 12, doubled 0.
RECORDS = 2
# The most bytes per entry in a short record of each generation. Chosen: about a page of memory.
# Worth: halved 0, doubled 0.
RECORD_ENTRY = 4 * KB
# What was seen once may be chance; what was seen at least so often is not. By convention.
REPEATED = 2
WITNESSES_OF_A_LEAK = 2
MOST_IN_EACH = 5
MOMENTS_ENOUGH = 48
FAR_MORE = 3.0
LARGE = 64 * MB
AT_BRINK = 0.85
AT_LIMIT = 0.95
FURTHEST = 1_000
# Generations from which on a number of entries that fits the generations is no chance. Chosen: many
# containers have up to a dozen entries from the beginning.
BEYOND_CHANCE = 10
# Confidence (0 to 1) in growth that has no series of its own: seen by two measurements or more than
# once, and seen once. Chosen near the confidence that ``series`` gives to seven changes (0.89) and
# to two (0.6).
SEEN_AGAIN, SEEN_ONCE = 0.9, 0.6


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
