"""Drafts of snapshots: what the blocks and lines of a log say about one moment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby, pairwise
from operator import itemgetter
from typing import NamedTuple

from leakguard.model import Census, Gauge, LargeObject, Snapshot, TypeCount, Watched
from leakguard.model.snapshot import Moment
from leakguard.store.textlog.record import Record


class When(NamedTuple):
    """When a snapshot was taken, as far as a label or the lines before it say."""

    moment: Moment
    phase: str | None
    generation: int | None


class Rounds(NamedTuple):
    """The rounds that were running when a line was printed, by the word that announced them.

    ``counted`` is the n of a bare ``[n/N]``.
    """

    generation: int | None = None
    epoch: int | None = None
    counted: int | None = None


NO_ROUNDS = Rounds()
_WORDS = {"generation": "Gen", "epoch": "Epoch", "counted": "Round"}
# With fewer epochs than this, their steps are the rounds if the step numbers keep rising.
_FEW_EPOCHS = 8
# A log may name a single round. If at least this many lines name it, each line of the log counts as
# a round of its own. Chosen.
_SERIES = 4

_GENERATION = re.compile(
    r"(?:Gen|Generation)\.?\s*#?(\d{1,15})(?:\s*/\s*\d+)?\s*[:\-–]\s*(\S.*)", re.IGNORECASE
)
_GENERATION_END = re.compile(
    r"(?:after |the )*"
    r"(?:end(?: of(?: the)? gen(?:eration)?)?|gen(?:eration)? (?:end|complete|done))(?: \d+)?\s*",
    re.IGNORECASE,
)
_AFTER = re.compile(r"^after\s+(?=\S)", re.IGNORECASE)
_RUN_END = re.compile(
    r"(?:end of (?:the )?run|run (?:ended|finished|end)|loop ended)", re.IGNORECASE
)


def parse_label(label: str) -> When:
    """Parse labels such as ``Gen N: After PHASE``; any other label is a phase of no generation."""
    match = _GENERATION.fullmatch(label)
    generation, rest = (int(match[1]), match[2].strip()) if match else (None, label)
    if "(baseline)" in rest.lower():
        return When("baseline", rest, generation)
    if generation is None:
        return When("end" if _RUN_END.fullmatch(rest) else "mark", rest, None)
    if _GENERATION_END.fullmatch(rest):
        return When("generation", None, generation)
    return When("phase", _AFTER.sub("", rest), generation)


def in_generation(place: When, generation: int | None) -> When:
    """Return the place of a label without a generation that was printed during ``generation``."""
    if generation is None or place.moment != "mark" or place.phase is None:
        return place
    if _GENERATION_END.fullmatch(place.phase):
        return When("generation", None, generation)
    return When("phase", _AFTER.sub("", place.phase), generation)


# The names that memory logs use for types of every Python program.
CENSUS_TYPES = {
    "Lists": "list",
    "Dicts": "dict",
    "NumPy arrays": "numpy.ndarray",
    "PyTorch Tensors": "torch.Tensor",
}
_BARE_TYPES = {"ndarray": "numpy.ndarray", "Tensor": "torch.Tensor", "list": "list", "dict": "dict"}


@dataclass(slots=True, eq=False)
class Draft:
    """One moment.

    ``step`` is the bytes in one unit of the last printed digit of its RSS. ``rounds`` is what other
    lines had announced. ``order`` is the line number of the moment. ``is_single`` is true if the
    moment has no block of its own. ``whole`` is true if its block is not cut. ``threshold`` is the
    least size of a large object. ``spoilt`` is true if its block has a record that cannot be read.
    ``ranks`` gives, for each metric, how reliable the words for it are (0 is best).
    """

    label: str
    place: When
    step: int = 0
    metrics: dict[str, int | float] = field(default_factory=dict)
    watched: dict[str, Watched] = field(default_factory=dict)
    types: dict[str, int] = field(default_factory=dict)
    large: list[LargeObject] = field(default_factory=list)
    gauges: dict[str, Gauge] = field(default_factory=dict)
    extra: dict[str, list[str]] = field(default_factory=dict)
    time: datetime | None = None
    quoted: bool = False
    rounds: Rounds = NO_ROUNDS
    order: int = 0
    is_single: bool = False
    whole: bool = False
    threshold: int | None = None
    record: Record | None = None
    spoilt: bool = False
    ranks: dict[str, int] = field(default_factory=dict)

    @classmethod
    def labelled(cls, label: str) -> Draft:
        """Return an empty draft at the place that its label names."""
        return cls(label, parse_label(label))

    @classmethod
    def single(cls, rounds: Rounds, phase: str | None, order: int) -> Draft:
        """Return an empty draft for the single lines from line ``order`` on."""
        number = next((n for n in rounds if n is not None), None)
        place = When("mark", phase, number)
        return cls("Before the first round", place, rounds=rounds, order=order, is_single=True)

    @property
    def rss(self) -> int | None:
        """RSS in bytes; None if the log does not give it."""
        value = self.metrics.get("rss")
        return None if value is None else int(value)

    def rank_of(self, metric: str) -> int:
        """Return how reliable the words for a metric are (0 is best); 0 if that is unknown."""
        return self.ranks.get(metric, 0)

    def has_rss(self, rss: int, step: int) -> bool:
        """True if this moment's RSS equals ``rss`` within the precision of both printed values."""
        own = self.rss
        return own is None or abs(own - rss) <= (self.step + step) / 2 + 1

    def tells_the_same(self, other: Draft) -> bool:
        """True if another block has the same label and the same values."""
        return (self.label, self.metrics, self.watched, self.types, self.gauges) == (
            (other.label, other.metrics, other.watched, other.types, other.gauges)
        )

    @property
    def counts_nothing(self) -> bool:
        """True if a complete block counts no objects: no look was taken."""
        return self.whole and not self.watched and not self.types

    @property
    def says_something(self) -> bool:
        """True if the draft has any number."""
        return bool(self.metrics or self.watched or self.gauges)

    def add_record(self, record: Record | None) -> None:
        """Add what a guard recorded; it replaces all that was read from the rows.

        None is a record that cannot be read: the rows stay.
        """
        if record is None:
            self.spoilt = True
            return
        self.record, told = record, record.snapshot
        self.place = When(told.moment, told.phase, told.generation)
        self.metrics, self.step = dict(told.metrics), 1

    def add_count(self, name: str, count: int) -> None:
        """Add the live count of a type, unless this moment's own block already gave it."""
        if name in self.watched or self.record is not None:
            return
        known = CENSUS_TYPES.get(name) or _BARE_TYPES.get(name)
        if known is None:
            self.watched[name] = Watched(count)
        else:
            self.types.setdefault(known, count)

    def snapshot(self, serial: int, start: datetime | None) -> Snapshot:
        """Return the snapshot of the rows; ``start`` is the time of the run's first snapshot."""
        return Snapshot(
            serial,
            self.label,
            *self.place,
            seconds=_seconds(start, self.time),
            metrics=self.metrics,
            gauges=self.gauges,
            watched=self.watched,
            census=self._census(),
            extra={title: tuple(lines) for title, lines in self.extra.items()},
        )

    def _census(self) -> Census | None:
        if not (self.types or self.large):
            return None
        types = {name: TypeCount(count) for name, count in self.types.items()}
        return Census(types, complete=False, large=tuple(self.large))


def _seconds(start: datetime | None, time: datetime | None) -> float | None:
    if start is None or time is None or (start.tzinfo is None) != (time.tzinfo is None):
        return None
    seconds = (time - start).total_seconds()
    return seconds if seconds >= 0 else None


def best_spelled(drafts: Iterable[Draft]) -> list[Draft]:
    """Keep each metric only where its best spelling gives it: worse ones measure something else.

    Moments of single lines without remaining values are left out.
    """
    known = list(drafts)
    best: dict[str, int] = {}
    for draft in known:
        for metric in draft.ranks:
            best[metric] = min(draft.rank_of(metric), best.get(metric, draft.rank_of(metric)))
    for draft in known:
        for metric, rank in draft.ranks.items():
            if rank > best[metric]:
                draft.metrics.pop(metric, None)
    return [draft for draft in known if not draft.ranks or draft.says_something]


def settle(drafts: Sequence[Draft]) -> str | None:
    """Assign generations to the moments of one process; return the kind of round that was used.

    Generations are preferred to epochs, which may restart in each generation, and both to a bare
    ``[n/N]``. None means that no line names a round: each moment of single lines then counts as
    one.
    """
    singles = [draft for draft in drafts if draft.is_single]
    kind = _kind_of_round(drafts)
    if kind is None:
        for number, draft in enumerate(singles, 1):
            draft.label, draft.place = f"Line {number}", When("generation", None, number)
        return None
    for draft in drafts:
        if not draft.is_single:
            draft.place = in_generation(draft.place, getattr(draft.rounds, kind))
    places = [(getattr(draft.rounds, kind), draft.place.phase) for draft in singles]
    phased = {number for number, phase in places if phase is not None}
    pairs = zip(places, singles, strict=True)
    for (number, phase), group in groupby(pairs, key=itemgetter(0)):
        if number is not None:
            ends = phase is not None or number not in phased
            _settle_round([draft for _, draft in group], _WORDS[kind], number, phase, ends)
    return kind


def _kind_of_round(drafts: Sequence[Draft]) -> str | None:
    """Return the first kind that most moments have and that varies, else the most varied kind."""
    known = {
        kind: [n for n in (getattr(draft.rounds, kind) for draft in drafts) if n is not None]
        for kind in _WORDS
    }
    if 0 < len(set(known["epoch"])) < _FEW_EPOCHS and _goes_on(known["counted"], len(drafts)):
        return "counted"
    for kind in _WORDS:
        if 2 * len(known[kind]) > len(drafts) and len(set(known[kind])) > 1:
            return kind
    best = max(_WORDS, key=lambda kind: len(set(known[kind])))
    several = len(set(known[best])) > 1 or 0 < len(known[best]) < _SERIES
    return best if several else None


def _goes_on(numbers: Sequence[int], moments: int) -> bool:
    """True if most moments have a number, and each number is higher than the one before."""
    rises = all(after > before for before, after in pairwise(numbers))
    return rises and 2 * len(numbers) > moments and len(numbers) >= _FEW_EPOCHS


def _settle_round(
    group: list[Draft], word: str, number: int, phase: str | None, ends: bool
) -> None:
    """Let the last line of a round stand for its end, with the earlier values that it lacks.

    ``ends`` is false for the lines of a round before its first phase.
    """
    last, name = group[-1], f"{word} {number}" + (f": {phase}" if phase else "")
    for position, draft in enumerate(group, 1):
        draft.label = name if draft is last else f"{name}, line {position} of {len(group)}"
        draft.place = When("mark", None, number)
    if ends:
        last.place = When("phase" if phase else "generation", phase, number)
    for draft in reversed(group[:-1]):
        last.watched = {**draft.watched, **last.watched}
        last.metrics = {**draft.metrics, **last.metrics}
        last.step = last.step or draft.step
