"""What the blocks of each function come to, look by look: it shows what grows in one piece.

A buffer that is replaced by a larger one is always young: no generation leaves any part of it
behind, and only the total of live bytes shows that it grows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from leakguard.analysis.tolerance import FEWEST_LOOKS, MAJORITY, NEARLY_ALL, is_about
from leakguard.model import Run, Snapshot
from leakguard.model.births import Birthplace

#: A function or a line, its phase, and whether C code allocated.
Code: TypeAlias = "tuple[str, str, bool]"


class Rise(NamedTuple):
    """How what functions made became larger.

    Attributes:
        rate: bytes per generation.
        began: the generation, counted from 0, in which it began.
        looks: how many looks saw it.
    """

    rate: float
    began: int
    looks: int


class LiveTotals:
    """The live bytes of each function at the looks of one run."""

    def __init__(self, run: Run, ran: Callable[[Snapshot], int]) -> None:
        """Take a run, and what tells how many of its generations ran until a snapshot."""
        self._ran = ran
        self._looks = [snapshot for snapshot in run.snapshots if snapshot.births is not None]

    def risen_by(
        self, size: float, since: int | None, told: Container[str | None] = ()
    ) -> Birthplace | None:
        """Return the largest line of the function whose live total rose by about ``size`` bytes.

        Each line that extends a buffer takes it from the others. The total must rise at each look
        since generation ``since`` that found it, at two or more. Lines that are ``told`` already
        made something else.
        """
        begins = since or 1
        looks = [
            (s.generation, functions_of(s.births.places))
            for s in self._looks
            if s.births and s.generation
        ]
        later = [places for generation, places in looks if generation >= begins]
        before = [places for generation, places in looks if generation < begins][-1:]
        if len(later) < 2 or size <= 0:
            return None

        def rise(function: Code) -> float:
            """Return the bytes that a function's total rose by; 0 if it did not at each look."""
            live = [_bytes(seen.get(function, ())) for seen in (*before, *later)]
            first = next((at for at, total in enumerate(live) if total), 0)
            live = live[max(first - 1, 0) :]  # the buffer may be made later
            return live[-1] - live[0] if all(a < b for a, b in pairwise(live)) else 0.0

        found = (f for f, places in later[-1].items() if places[0].place not in told)
        fits = (f for f in found if is_about(rise(f), size))
        function = max(fits, key=rise, default=None)
        return None if function is None else later[-1][function][0]

    def rise_of(self, buffer: Collection[Birthplace], buffers: Sequence[Birthplace]) -> Rise | None:
        """Return how a buffer with these births grew; None if it did not.

        ``buffers`` are the births of all buffers of the same look. The line, or else the function,
        must have little else alive. Since a look that saw no more than half of it, each later look
        must have found about as much more for each generation, or more.
        """
        rises = (self._rise(buffer, buffers, grouped) for grouped in (lines_of, functions_of))
        return next(filter(None, rises), None)

    def _rise(
        self,
        buffer: Collection[Birthplace],
        buffers: Sequence[Birthplace],
        grouped: Callable[[Iterable[Birthplace]], Mapping[Code, Sequence[Birthplace]]],
    ) -> Rise | None:
        makers = grouped(buffer).keys()

        def made(places: Iterable[Birthplace]) -> float:
            return sum(_bytes(its) for code, its in grouped(places).items() if code in makers)

        live = [(self._ran(s), made(s.births.places)) for s in self._looks if s.births]
        live = _apart([(ran, total) for ran, total in live if total])
        all_ = made(buffers)
        if len(live) < FEWEST_LOOKS or not is_about(live[-1][1], all_):
            return None
        (first, least), (last, most) = live[0], live[-1]
        rate = (most - least) / max(last - first, 1)
        gained = _gained(live, MAJORITY * rate)
        if len(gained) < FEWEST_LOOKS or least > MAJORITY * most:
            return None
        began = max(first - round(least / rate), 0)
        return Rise(rate * _bytes(buffer) / all_, began, len(gained))


def _apart(live: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return the totals of looks that lie apart, the last one included.

    A buffer takes more than it needs, an eighth or so. So it may be as large at the next look, if
    nearly all generations were over at the one before.
    """
    kept = list(live[-1:])
    for ran, total in reversed(live[:-1]):
        if ran <= NEARLY_ALL * kept[0][0]:
            kept.insert(0, (ran, total))
    return kept


def _gained(live: Sequence[tuple[int, float]], least: float) -> list[tuple[int, float]]:
    """Return the looks that each found ``least`` bytes a generation more; none if one did not.

    A program may extend its buffer once in several generations. So an early look may find nothing
    more: the next one has to make up for it.
    """
    early = (1 - NEARLY_ALL) * live[-1][0]
    found = list(live[:1])
    for ran, total in live[1:]:
        before, size = found[-1]
        if total - size >= least * (ran - before) > 0:
            found.append((ran, total))
        elif ran > early:
            return []
    return found


def functions_of(places: Iterable[Birthplace]) -> dict[Code, list[Birthplace]]:
    """Return the birthplaces of each function of the program, the line of most bytes first."""
    return _grouped((place for place in places if place.place is not None), _function)


def _function(place: Birthplace) -> str:
    file, _, _ = (place.place or "").rpartition(":")
    return str(place.place) if place.function is None else f"{file} {place.function}"


def lines_of(places: Iterable[Birthplace]) -> dict[Code, list[Birthplace]]:
    """Return the birthplaces of each line, most bytes first."""
    return _grouped(places, lambda place: place.place or "")


def _grouped(
    places: Iterable[Birthplace], where: Callable[[Birthplace], str]
) -> dict[Code, list[Birthplace]]:
    found: defaultdict[Code, list[Birthplace]] = defaultdict(list)
    for place in sorted(places, key=lambda place: -place.bytes):
        found[where(place), place.phase, place.native].append(place)
    return found


def _bytes(places: Iterable[Birthplace]) -> float:
    return sum(place.bytes for place in places)
