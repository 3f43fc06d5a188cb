"""Runs out of the blocks of a log: processes kept apart, restarts cut, gaps filled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from leakguard.model import Run, RunInfo
from leakguard.model.units import format_bytes
from leakguard.store.textlog.block import Block
from leakguard.store.textlog.draft import Draft
from leakguard.store.textlog.events import Event, Events
from leakguard.store.textlog.label import in_generation
from leakguard.store.textlog.one_line import OneLiners
from leakguard.store.textlog.part import Part
from leakguard.store.textlog.prefix import Speaker
from leakguard.store.textlog.snapshot_rows import read_snapshot
from leakguard.store.textlog.tables import Change, Trend, read_growth, read_trend


@dataclass(slots=True)
class Runs:
    """Takes the blocks of a log in order; ``finish`` returns the runs they make."""

    cut: int = 0
    headings: int = 0
    events: Events = field(default_factory=Events)

    def take(self, block: Block, who: Speaker, said: OneLiners) -> None:
        """Add what one block says, and what single lines said before it."""
        self.cut += block.cut
        if block.kind == "SNAPSHOT":
            draft = read_snapshot(block)
            if draft is None:
                self.headings += 1
            else:
                said.add_to(draft, who)
                self.events.add(who, draft)
        elif block.kind == "TREND":
            self.events.add(who, read_trend(block))
        else:
            self.events.add(who, read_growth(block))

    @property
    def has_generations(self) -> bool:
        """True when the blocks themselves say in which round they were printed."""
        return any(
            bool(event.rows) if isinstance(event, Trend)
            else isinstance(event, Draft) and event.place.generation is not None
            for _, event in self.events
        )  # fmt: skip

    @property
    def found(self) -> bool:
        """True when there is at least one moment."""
        return any(
            bool(event.rows) if isinstance(event, Trend)
            else isinstance(event, Draft) or event.before is not None or event.after is not None
            for _, event in self.events
        )  # fmt: skip

    def finish(self, memory_limit: int | None = None, notes: Iterable[str] = ()) -> list[Run]:
        """Return the runs, those of one process after the other."""
        notes = (*notes, *self._notes())
        if not self.has_generations:
            self._use_announced_rounds()
        runs: list[Run] = []
        for who, events in sorted(_by_speaker(self.events).items(), key=_by_rank):
            parts = [part for part in _parts(events) if part.points]
            for k, part in enumerate(parts, 1):
                info = _info(who, part, memory_limit)
                runs.append(_run(info, part, (k, len(parts)), notes))
        return runs

    def _use_announced_rounds(self) -> None:
        for _, event in self.events:
            if isinstance(event, Draft):
                event.place = in_generation(event.place, event.round)

    def _notes(self) -> Iterable[str]:
        if self.events.stride > 1:
            yield f"long log: of {self.events.stride} generations one is kept"
        if self.events.spacing > 1:
            yield f"long log: of {self.events.spacing} snapshots of a label one is kept"
        if self.headings:
            yield f"{self.headings} snapshot blocks were cut before their RSS and left out"
        if self.cut > self.headings:
            yield f"{self.cut - self.headings} blocks have no closing frame; what they hold is kept"


def _by_rank(item: tuple[Speaker, object]) -> tuple[bool, int]:
    rank = item[0].rank
    return rank is None, rank or 0


def _by_speaker(events: Iterable[tuple[Speaker, Event]]) -> dict[Speaker, list[Event]]:
    events = list(events)
    named = [who for who, _ in events if not who.sure]
    changes = sum(a != b for a, b in pairwise(named))
    # Bare numbers that never come back count something; those that alternate name processes.
    merge = changes + 1 <= len(set(named))
    groups: dict[Speaker, list[Event]] = {}
    for who, event in events:
        groups.setdefault(Speaker() if merge and not who.sure else who, []).append(event)
    return groups


def _parts(events: Iterable[Event]) -> list[Part]:
    parts = [Part()]
    for event in events:
        if isinstance(event, Draft):
            _add_snapshot(parts, event)
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
    start = next((point.time for point in part.points if point.time is not None), None)
    snapshots = tuple(point.snapshot(serial, start) for serial, point in enumerate(part.points))
    finished = any(point.place.moment == "end" for point in part.points)
    return Run(info, snapshots, (*_notes(part), *notes), place, finished)


def _info(who: Speaker, part: Part, memory_limit: int | None) -> RunInfo:
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
    if steps:
        yield f"the log prints RSS in steps of {format_bytes(max(steps))}; less is not visible"
    if part.rebuilt:
        yield f"{part.rebuilt} moments are known from trend and growth tables only, without details"
