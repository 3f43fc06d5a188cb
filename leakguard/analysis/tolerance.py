"""The numbers that decide what a run is told: what is too little, what is the same, what is much.

Those that decide whether a series grows stand in ``series/tolerance.py``. Each value is derived,
measured, by convention, or chosen; its comment says which, and its unit if it has one. **Worth** is
what changes on recorded runs when the number is halved, and doubled (``make weigh``,
reports/judge/weights.md): "3 of 12" are 3 of the first 12 reports that were tried, "3 of 430" are 3
of all that it could decide.
"""

from __future__ import annotations

from leakguard.model.units import KB, MB

# -- how often ------------------------------------------------------------------------------------

# The fewest looks, generations or parts for a trend. Two show one change, and one change is no
# trend. The usual pace of memory is the median of twice as many generations. By convention.
# Worth: halved 12 of 12 and 8 leaks less, doubled 2 of 12.
FEWEST_LOOKS = 3
# What was seen once may be chance; what was seen at least so often is not. By convention.
# Worth: halved 2 of 175, doubled 0 of 186.
REPEATED = 2
# Generations, entries or samples from which on an agreement is no chance, and values from which on
# the noise of a series can be judged. Chosen: many containers have up to a dozen entries from the
# beginning. Worth: halved 1 of 40 and an accusation more, doubled 1 of 30 and a leak less.
BEYOND_CHANCE = 10
# A leak needs so many instruments that agree; ``evidence.is_confirmed`` alone applies it. Chosen.
# Worth: halved 2 of 10, doubled 12 of 12 and 18 leaks less.
WITNESSES_OF_A_LEAK = 2
# The most builtin objects in each entry that are recognized by their number alone. Chosen: by a
# larger factor, growths that have nothing to do with each other would often fit by chance.
# Worth: halved 1 of 12, doubled 0 of 20.
MOST_IN_EACH = 5
# The fewest generations that are left of a run that recorded them ever further apart. Chosen: the
# judge of a series compares its quarters, and 48 values give a dozen in each.
# Worth: halved 2 of 12, doubled 8 of 140.
MOMENTS_ENOUGH = 48
# The most hops before a container whose types tell the place. Chosen: types further away are
# unrelated to it. Worth: halved 4 of 386, doubled 1 of 386.
NEARBY_TYPES = 4
# Threads from which on arenas are the likely cause of held memory. Derived: glibc gives each thread
# an arena, up to eight times as many as cores (mallopt(3), M_ARENA_MAX): sixteen with two cores.
# Worth: no recorded run has as many and holds memory; a unit test has.
MANY_THREADS = 16

# -- shares of a whole ----------------------------------------------------------------------------

# By convention: "most" means at least half, wherever the word is used.
# Worth: halved 22 of 333 and 2 leaks less, doubled 4 of 12 and 3 accusations more.
MAJORITY = 0.5
# By convention: "nearly all" means at least four fifths, wherever the words are used.
# Worth: halved 2 of 12, doubled 3 of 12.
NEARLY_ALL = 0.8
# A part that matters beside others although it is not most: at least a third of the whole. Chosen
# above a quarter: a float has 24 bytes, but its memory block has 32, so a quarter of the growth by
# floats belongs to no counted object; and below a half: what a line calls makes objects, too.
# Worth: halved 4 of 9 and 4 accusations more, doubled 3 of 12.
PLURALITY = 1 / 3
# Less than a quarter of what is expected counts as none of it: growth that later added less has
# stopped, and a rest of memory that is less may be what the walk did not count. What should agree
# with an estimate may differ by as much. Chosen, in favour of reporting; measured for the line of a
# graph (12 %). Worth: halved 2 of 12, doubled 0 of 13; of the rest, halved 2 of 11, doubled 2 of 5.
WENT_ON_SHARE = 0.25
# By convention: less than a tenth of a whole is negligible. Two rates that differ by less are
# equal, for one of them may come from samples. Worth: halved 3 of 430, doubled 4 of 457 and a leak
# less; of two rates, halved 1 of 12 and an accusation more, doubled 2 of 11 and a leak less.
OWN_SHARE = 0.1
# Two counts per generation are equal if they differ by at most this share. Chosen: of fifty
# generations, one at the edge of the range may be included in only one of the two counts.
# Worth: halved 5 of 12, doubled 1 of 12.
SAME_COUNT = 0.02
# By convention, a chance of at most one in a hundred is none, as for ``model.residue``.
# Worth: no recorded run is decided by it; unit tests are, and the rules that ask it decide one run.
ONE_IN_A_HUNDRED = 0.01
# What is more than so many times as much as usual, or as the others, stands out: a generation with
# an import, a process of a job. Chosen. Worth: halved 1 of 32, doubled 0 of 12.
FAR_MORE = 3.0

# -- bytes per generation -------------------------------------------------------------------------

# Bytes: four pages of 4 KiB. Smaller changes are not evidence about the program, because the
# interpreter and the guard allocate a little in any generation and the kernel counts memory in
# pages. Chosen. Worth: halved 4 of 483 and an accusation more, doubled 6 of 483.
BYTES_FLOOR = 16_384.0
# A rise of live memory by at least this many bytes per generation matters, however small its total
# is. Chosen: four times BYTES_FLOOR, rounded. A program that leaks this much gains 64 MB in a
# thousand generations. Worth: halved 0 of 145, doubled 0 of 88.
NOTABLE_BYTES = 64 * KB
# A container is reported if its entries retain at least this many more bytes in each generation.
# Chosen: a kilobyte is the least that is worth a line of a report, and entries are counted exactly.
# Worth: halved 1 of 7, doubled 1 of 3 and a leak less.
NOTABLE_ENTRIES = 1_024
# A short record of each generation is no leak: at most so many entries per generation, and so many
# bytes an entry. Chosen: about a page of memory. Worth: of the entries, halved 3 of 12 and 2
# accusations more, doubled 1 of 12 and a leak less; of the bytes, halved 1 of 4 and an accusation
# more, doubled 1 of 2 and a leak less.
RECORDS, RECORD_ENTRY = 2, 4 * KB

# -- bytes in all ---------------------------------------------------------------------------------

# Bytes over a whole run at which growth needs a verdict or a stated doubt. Chosen: an interpreter
# by itself gains less (imports, caches, arenas of 1 MiB). Worth: halved 2 of 12, doubled 1 of 12.
MATERIAL_BYTES = 1 * MB
# Total bytes that slow growth must reach to matter. Chosen: half of MATERIAL_BYTES, because growth
# that continues to the end is more certain than a single rise.
# Worth: halved 1 of 225, doubled 2 of 331 and an accusation more.
NOTABLE_TOTAL = 500 * KB
# Slow growth of counted objects matters if it adds up to at least this many bytes. Slow growth of
# live memory below this total does not make a run undecided. Chosen below NOTABLE_TOTAL, because
# objects are counted one by one. Worth: halved 4 of 11, doubled 1 of 10.
NOTABLE_COUNTED = 200 * KB
# Bytes per day, at the pace of the run, from which growth matters however little a generation adds.
# Chosen: a service that is restarted once a week loses 7 GB in that time.
# Worth: halved 1 of 2 and an accusation more, doubled 0 of 2.
MATERIAL_A_DAY = 1_000 * MB
# Bytes that a machine feels: a brief peak, and what one process holds more than the others of its
# job. Chosen. Worth: of a peak, halved 1 of 1, doubled 0.
LARGE = 64 * MB
# Garbage in cycles that waits for a collection is a cost from here on, if it is half of what the
# run needs. Chosen below LARGE: it stays for as long as the run lasts. Worth: no recorded run has
# garbage of 8 to 32 MB; a unit test has.
GARBAGE = 16 * MB

# -- a limit of memory ----------------------------------------------------------------------------

# From this share of a limit on, memory is near it: a peak is told, and whoever was killed may have
# died of it. By convention: ``live.black_box`` first looks there. From the second share on, a
# process that was killed without notice died of memory; below, it must have been rising, too.
# Chosen: the last record comes at each per cent. Worth: no recorded run ends at a limit; the
# unit tests of a death do.
AT_BRINK, AT_LIMIT = 0.85, 0.95
# A date is forecast at most this many times the length of the run ahead. Chosen: beyond that, the
# rate is not known well enough, and no run lasts that long. Worth: no verdict, only the forecast.
FURTHEST = 1_000

# -- confidence -----------------------------------------------------------------------------------

# What the confidence in growth that one change shows lacks. Chosen, not calibrated. Worth: no
# verdict; reports only display it.
MISSING = 0.8


def confidence(changes: int) -> float:
    """Return the confidence in growth that so many changes show: 0.6 for two, 0.89 for seven."""
    return 1.0 - MISSING / max(1, changes)


# Confidence (0 to 1) in growth that has no series of its own: seen by two measurements or more than
# once, and seen once. Worth: no verdict; reports only display it.
SEEN_AGAIN, SEEN_ONCE = confidence(BEYOND_CHANCE), confidence(REPEATED)


def same(one: float, other: float, tolerance: float) -> bool:
    """Return True if two rates differ by no more than ``tolerance`` of the second."""
    return abs(one - other) <= tolerance * abs(other)


def is_about(size: float, whole: float) -> bool:
    """Return whether one is no less than half and no more than twice as much as another."""
    return MAJORITY * whole <= size <= whole / MAJORITY


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
