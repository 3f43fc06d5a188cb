"""What is too small to matter, and what counts as the same: each floor and share that files share.

A value is one of three things, and its comment says which: derived, measured, or chosen. What is
chosen is a convention or a round number that the programs of the benchmarks bear out; what the
verdicts owe to it, ``regression_tests.benchmarks.constants`` measures by halving and doubling it
(reports/constants).
"""

from __future__ import annotations

from leakguard.model.units import KB, MB

# -- how many looks, and shares ------------------------------------------------------------------

# Looks or generations. Two show one change, and one change is no trend.
FEWEST_LOOKS = 3

# Shares by convention, the same in every sentence that uses the word: most of something is half of
# it, nearly all is four fifths, and what is less than a tenth beside something larger is part of
# it. Chosen, not derived.
MAJORITY = 0.5
NEARLY_ALL = 0.8
OWN_SHARE = 0.1
# Two counts a generation are the same within 2 %: they differ because a generation lies at the edge
# of one of them, one in fifty. Two rates of which one is sampled are the same within 10 %. Chosen.
SAME_COUNT = 0.02
SAME_RATE = 0.1
# Share of what a growth would have added since, below which it did not go on. Chosen between none
# and all of it, on the side of the leak: one that goes on at half its pace is still told.
WENT_ON_SHARE = 0.25

# -- bytes a generation --------------------------------------------------------------------------

# Bytes: four pages of 4 KiB. Interpreter and guard note down things of their own in any generation,
# and the kernel counts memory in pages: moves below this are no sign of the program. Chosen.
BYTES_FLOOR = 16_384.0
# Bytes a generation that a rise of live memory must have to matter at once. Chosen as four times
# the floor, rounded; a program that loses it takes 64 MB in a thousand generations.
NOTABLE_BYTES = 64 * KB
# Bytes a generation of builtin objects. Chosen as half of the above: the census counts them one by
# one, so that there is less noise.
NOTABLE_OBJECTS = 32 * KB
# Bytes a generation of one buffer: its size is read exactly, so that the floor is all it needs.
NOTABLE_BUFFER = BYTES_FLOOR
# Bytes a generation behind the entries of a container: entries are counted exactly, and the least
# that is worth a line is chosen as a kilobyte.
NOTABLE_ENTRIES = 1_024

# Share of live memory a generation that looks leave behind at most. Measured: 50 to 110 kB in
# trainings of five generations and 190 MB, each looked at; twice that is allowed for.
LOOKS_LEAVE = 0.0012

# -- bytes in all --------------------------------------------------------------------------------

# Bytes over a run. Less is what interpreters do (imports, caches, arenas of 1 MiB); from here on a
# verdict is owed or doubt is said. In a process above 200 MB it is this share of live memory. Both
# are chosen.
MATERIAL_BYTES = 1 * MB
MATERIAL_SHARE = 0.005
# Bytes in all that growth must come to where a generation adds little. Chosen as half of what is
# material, since growth that went on to the end is surer than one rise; less again for objects,
# which are counted one by one.
NOTABLE_TOTAL = 500 * KB
NOTABLE_COUNTED = 200 * KB

# A program that notes down a line about each generation leaks nothing: so many entries, of so few
# bytes each (a page at most), and so many bytes in all a generation. Chosen; it is 100 MB after ten
# thousand generations at the most.
RECORDS = 2
RECORD_ENTRY = 4 * KB
RECORD_BYTES = 10 * KB


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
