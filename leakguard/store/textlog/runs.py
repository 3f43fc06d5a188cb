"""Makes runs of the blocks of a log: separates processes, splits at restarts, and fills gaps."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from operator import itemgetter

from leakguard.model import Run, RunInfo, Snapshot
from leakguard.model.units import format_bytes
from leakguard.store.census_delta import whole
from leakguard.store.textlog.block import Block
from leakguard.store.textlog.line import Speaker
from leakguard.store.textlog.moment import (
    NO_ROUNDS,
    Draft,
    best_spelled,
    parse_label,
    settle,
)
from leakguard.store.textlog.part import Part
from leakguard.store.textlog.record import Closing, read_closing
from leakguard.store.textlog.snapshot import read_snapshot
from leakguard.store.textlog.table import Change, Trend, read_growth, read_trend

Event = Draft | Trend | Change | Closing
# With ``_MOST_EVENTS`` events, a log is thinned: to evenly spaced rounds if it has more than
# ``_ROUNDS_ENOUGH`` rounds, else to every second event of a kind. For that, the events of each kind
# are counted. With more than ``_MOST_EVENT_KINDS`` kinds, all counts are reset to 0.
_MOST_EVENTS, _ROUNDS_ENOUGH, _MOST_EVENT_KINDS = 10_000, 100, 4_000


@dataclass(slots=True)
class Events:
    """The events of all processes.

    Of a long log, only one round in ``stride`` is kept. If the log has few or no rounds, only one
    event in ``spacing`` of each kind is kept. A kind is a process and a label without its numbers.
    """

    stride: int = 1
    spacing: int = 1
    _events: list[tuple[Speaker, Event]] = field(default_factory=list)
    _trends: dict[Speaker, int] = field(default_factory=dict)
    _arrived: Counter[tuple[Speaker, str]] = field(default_factory=Counter)

    def __iter__(self) -> Iterator[tuple[Speaker, Event]]:
        return iter(self._events)

    def add(self, who: Speaker, event: Event) -> None:
        """Add the next event of a process."""
        if not (_in_stride(event, self.stride) and self._in_spacing(who, event)):
            return
        if isinstance(event, Trend):
            self._replace_trend(who, event)
        self._events.append((who, event))
        if len(self._events) >= _MOST_EVENTS:
            self._thin()

    def _in_spacing(self, who: Speaker, event: Event) -> bool:
        if len(self._arrived) > _MOST_EVENT_KINDS:
            self._arrived.clear()
        kind = (who, _kind(event))
        self._arrived[kind] += 1
        return (self._arrived[kind] - 1) % self.spacing == 0

    def _replace_trend(self, who: Speaker, trend: Trend) -> None:
        """Remove an earlier table that this one repeats and continues."""
        index = self._trends.get(who)
        if index is not None:
            earlier = self._events[index][1]
            if isinstance(earlier, Trend) and trend.rows[: len(earlier.rows)] == earlier.rows:
                self._events[index] = (who, Trend((), False))
        self._trends[who] = len(self._events)

    def _thin(self) -> None:
        kept = [(w, e) for w, e in self._events if not (isinstance(e, Trend) and not e.rows)]
        if len({_generation(event) for _, event in kept}) > _ROUNDS_ENOUGH:
            self.stride *= 2
            kept = [(who, event) for who, event in kept if _in_stride(event, self.stride)]
        if len(kept) > 0.75 * _MOST_EVENTS:
            self.spacing *= 2
            kept = list(_every_second(kept))
        if len(kept) > 0.75 * _MOST_EVENTS:
            del kept[1::2]
        self._events = kept
        self._trends.clear()


def _every_second(events: Iterable[tuple[Speaker, Event]]) -> Iterator[tuple[Speaker, Event]]:
    """Yield every second event of each kind, so that no kind is lost."""
    seen: Counter[tuple[Speaker, str]] = Counter()
    for who, event in events:
        kind = (who, _kind(event))
        seen[kind] += 1
        if seen[kind] % 2:
            yield who, event


def _kind(event: Event) -> str:
    if not isinstance(event, Draft):
        return type(event).__name__
    moment, phase, generation = event.place
    return phase or moment if generation is not None else re.sub(r"\d+", "", event.label)


def _in_stride(event: Event, stride: int) -> bool:
    generation = _generation(event)
    return generation is None or generation % stride == 1 % stride


def _generation(event: Event) -> int | None:
    if isinstance(event, Draft):
        return event.place.generation
    labels = () if isinstance(event, Closing) else event.last_labels
    rounds = [parse_label(label).generation for label in labels]
    return next((n for n in reversed(rounds) if n is not None), None)


@dataclass(slots=True)
class Runs:
    """Collects the events of a log in order; ``finish`` returns the runs.

    Single lines count only if neither the blocks name their generations nor other lines announce
    the rounds that the blocks are in.
    """

    cut: int = 0
    headings: int = 0
    blocks: Events = field(default_factory=Events)
    singles: Events = field(default_factory=Events)

    def take(self, block: Block, who: Speaker, tell: Callable[[Draft, Speaker], None]) -> None:
        """Add the content of one block; ``tell`` adds to it what single lines before it said."""
        self.cut += block.cut
        if block.kind == "SNAPSHOT":
            draft = read_snapshot(block)
            if draft is None:
                self.headings += 1
            else:
                tell(draft, who)
                self.blocks.add(who, draft)
        elif block.kind == "RECORD":
            closing = read_closing(block.label)
            if closing is not None:
                self.blocks.add(who, closing)
        elif block.kind == "TREND":
            self.blocks.add(who, read_trend(block))
        else:
            self.blocks.add(who, read_growth(block))

    @property
    def complete(self) -> bool:
        """True if the blocks name their generations, so that single lines could add nothing."""
        return _names_rounds(self.blocks)

    @property
    def found_something(self) -> bool:
        """True if there is a moment, from a block or from single lines."""
        return _has_moments(self.blocks) or _has_moments(self.singles)

    @property
    def names_rounds(self) -> bool:
        """True if any line names a round."""
        drafts = (event for _, event in self.singles if isinstance(event, Draft))
        return self.complete or any(draft.rounds != NO_ROUNDS for draft in drafts)

    def finish(self, memory_limit: int | None = None, folded: int = 0) -> list[Run]:
        """Return the runs, grouped by process."""
        groups, notes = self._settled(folded)
        notes = [*notes, *self._notes()]
        runs: list[Run] = []
        for who, events in sorted(groups.items(), key=_by_rank):
            parts = [part for part in _parts(events) if part.points]
            for k, part in enumerate(parts, 1):
                info = _info(who, part, memory_limit)
                runs.append(_run(info, part, (k, len(parts)), tuple(notes)))
        return runs

    def _settled(self, folded: int) -> tuple[dict[Speaker, list[Event]], list[str]]:
        """Return each process's events with their generations, and notes on what is missing."""
        groups = _by_speaker(self.blocks)
        if not self.complete:
            for events in groups.values():
                settle(_drafts(events))
        if _names_rounds(self.blocks) or (_has_moments(self.blocks) and not self.names_rounds):
            return groups, []
        groups = {
            who: _well_spelled(events)
            for who, events in _by_speaker(_merged(self.blocks, self.singles)).items()
        }
        kinds = {settle(_drafts(events)) for events in groups.values()}
        singles = _drafts(event for _, event in self.singles)
        return groups, [*_missing(singles, kinds, folded)]

    def _notes(self) -> Iterable[str]:
        for events in (self.blocks, self.singles):
            if events.stride > 1:
                yield f"long log: of {events.stride} generations one is kept"
            if events.spacing > 1:
                yield f"long log: of {events.spacing} snapshots of a label one is kept"
        if self.headings:
            yield f"{self.headings} snapshot blocks were cut before their RSS and left out"
        if self.cut > self.headings:
            yield f"{self.cut - self.headings} blocks have no closing frame; what they hold is kept"


def _names_rounds(events: Iterable[tuple[Speaker, Event]]) -> bool:
    return any(
        bool(event.rows) if isinstance(event, Trend)
        else isinstance(event, Draft) and event.place.generation is not None
        for _, event in events
    )  # fmt: skip


def _has_moments(events: Iterable[tuple[Speaker, Event]]) -> bool:
    """True if there is at least one moment."""
    return any(
        bool(event.rows) if isinstance(event, Trend)
        else isinstance(event, Draft)
        or (isinstance(event, Change) and (event.before or event.after) is not None)
        for _, event in events
    )  # fmt: skip


def _drafts(events: Iterable[Event]) -> list[Draft]:
    return [event for event in events if isinstance(event, Draft)]


def _merged(blocks: Events, singles: Events) -> list[tuple[Speaker, Event]]:
    """Return both in the order of their lines; a table follows the block before it."""
    keyed: list[tuple[int, Speaker, Event]] = []
    line = 0
    for who, event in chain(blocks, singles):
        line = event.order if isinstance(event, Draft) else line
        keyed.append((line, who, event))
    return [(who, event) for _, who, event in sorted(keyed, key=itemgetter(0))]


def _missing(singles: Sequence[Draft], kinds: Collection[str | None], folded: int) -> Iterator[str]:
    """Yield notes on what a log of single lines cannot show."""
    yield (
        "the log has single lines only, no MEMORY SNAPSHOT blocks: virtual and GPU memory, "
        "peaks and the counts of lists, dicts, arrays and tensors are not known"
    )
    if all(draft.rss is None for draft in singles):
        yield "no line gives the RAM in use; growth in bytes is not known"
    if not any(draft.watched for draft in singles):
        yield "no line counts objects; which objects grow is not known"
    if None in kinds:
        yield (
            "no line names a generation that goes on: each line with a value counts as one, in "
            "the order of the log"
        )
    if all(draft.place.phase is None for draft in singles):
        yield "no line names a phase; which phase grows is not known"
    if folded:
        yield f"{folded} lines were followed by a later one in the same round and left out"


def _by_rank(item: tuple[Speaker, object]) -> tuple[bool, int]:
    rank = item[0].rank
    return rank is None, rank or 0


def _by_speaker(events: Iterable[tuple[Speaker, Event]]) -> dict[Speaker, list[Event]]:
    events = list(events)
    named = [who for who, _ in events if not who.sure]
    changes = sum(a != b for a, b in pairwise(named))
    # Some prefixes consist only of a number, which may count something or name a process. If each
    # number has all of its lines in a row, the numbers count something, and all lines are of one
    # process. If a number comes again after another one, the numbers name processes.
    merge = changes + 1 <= len(set(named))
    groups: dict[Speaker, list[Event]] = {}
    for who, event in events:
        groups.setdefault(Speaker() if merge and not who.sure else who, []).append(event)
    return groups


def _well_spelled(events: Sequence[Event]) -> list[Event]:
    """Leave out single lines with less reliable words than others of the same process."""
    kept = set(map(id, best_spelled(_drafts(events))))
    return [event for event in events if not isinstance(event, Draft) or id(event) in kept]


def _parts(events: Iterable[Event]) -> list[Part]:
    parts = [Part()]
    for event in events:
        if isinstance(event, Draft):
            _add_snapshot(parts, event)
        elif isinstance(event, Closing):
            parts[-1].close(event)
        else:
            _add_table(parts, event)
    return parts


def _add_snapshot(parts: list[Part], draft: Draft) -> None:
    part = parts[-1]
    if part.repeats(draft):
        return
    if part.starts_over(draft):
        leaders = part.leaders()
        part = _begin(parts)
        for leader in leaders:
            part.add(leader)
    part.add(draft)


def _add_table(parts: list[Part], table: Trend | Change) -> None:
    part = _begin(parts) if parts[-1].contradicts(table) else parts[-1]
    if isinstance(table, Trend):
        part.add_trend(table)
    else:
        part.add_growth(table)


def _begin(parts: list[Part]) -> Part:
    parts.append(Part())
    return parts[-1]


def _run(info: RunInfo, part: Part, place: tuple[int, int], notes: tuple[str, ...]) -> Run:
    snapshots = tuple(_snapshots(part.points))
    finished = part.finished or any(point.place.moment == "end" for point in part.points)
    noted = (*_notes(part), *notes)
    return Run(info, snapshots, noted, place, finished, failure=part.failure)


def _snapshots(points: Sequence[Draft]) -> Iterator[Snapshot]:
    """Yield the snapshots: as they were recorded or, without a record, as their rows say."""
    start = next((point.time for point in points if point.time is not None), None)
    recorded = iter(whole(point.record.snapshot for point in points if point.record is not None))
    for serial, point in enumerate(points):
        if point.record is None:
            yield point.snapshot(serial, start)
        else:
            yield replace(next(recorded), serial=serial)


def _info(who: Speaker, part: Part, memory_limit: int | None) -> RunInfo:
    told = next((p.record.info for p in part.points if p.record and p.record.info), None)
    if told is not None:
        rank = who.rank if told.rank is None else told.rank
        source = "jsonl" if all(point.record for point in part.points) else "log"
        return replace(told, source=source, name=told.name or who.name, rank=rank)
    start = next((point.time for point in part.points if point.time is not None), None)
    return RunInfo(
        source="log",
        name=who.name,
        started=None if start is None else start.isoformat(),
        pid=who.pid,
        rank=who.rank,
        memory_limit=memory_limit,
        large_object=next((p.threshold for p in part.points if p.threshold is not None), None),
    )


def _notes(part: Part) -> Iterable[str]:
    steps = [point.step for point in part.points if point.step]
    if steps and max(steps) > 1:
        yield f"the log prints RSS in steps of {format_bytes(max(steps))}; less is not visible"
    spoilt = sum(point.spoilt for point in part.points)
    if spoilt:
        yield (
            f"blocks with a damaged record: {spoilt}; of these, only the printed rows were read, "
            "which have no births"
        )
    if part.rebuilt:
        yield f"{part.rebuilt} moments are known from trend and growth tables only, without details"
