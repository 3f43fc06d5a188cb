"""What the blocks of a log say, in order, in bounded memory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from leakguard.store.textlog.draft import Draft
from leakguard.store.textlog.label import parse_label
from leakguard.store.textlog.prefix import Speaker
from leakguard.store.textlog.tables import Change, Trend

Event = Draft | Trend | Change
# With more events than this a log is thinned: to evenly spaced rounds when it has so many rounds,
# else to every second event of a kind.
_MOST_EVENTS, _ROUNDS_ENOUGH, _MOST_KINDS = 10_000, 100, 4_000


@dataclass(slots=True)
class Events:
    """The events of all processes.

    Of a long log only each ``stride``-th round is kept; of one with few rounds or none only each
    ``spacing``-th event of a kind, which is a process and a label without its numbers.
    """

    stride: int = 1
    spacing: int = 1
    _events: list[tuple[Speaker, Event]] = field(default_factory=list)
    _trends: dict[Speaker, int] = field(default_factory=dict)
    _arrived: Counter[tuple[Speaker, str]] = field(default_factory=Counter)

    def __iter__(self) -> Iterator[tuple[Speaker, Event]]:
        return iter(self._events)

    def add(self, who: Speaker, event: Event) -> None:
        """Add what a process said next."""
        if not (_in_stride(event, self.stride) and self._in_spacing(who, event)):
            return
        if isinstance(event, Trend):
            self._replace_trend(who, event)
        self._events.append((who, event))
        if len(self._events) >= _MOST_EVENTS:
            self._thin()

    def _in_spacing(self, who: Speaker, event: Event) -> bool:
        if len(self._arrived) > _MOST_KINDS:
            self._arrived.clear()
        kind = (who, _kind(event))
        self._arrived[kind] += 1
        return (self._arrived[kind] - 1) % self.spacing == 0

    def _replace_trend(self, who: Speaker, trend: Trend) -> None:
        """Forget a table that this one repeats and continues."""
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
    """Yield every second event of each kind, so that no kind gets lost."""
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
    rounds = [parse_label(label).generation for label in event.last_labels]
    return next((n for n in reversed(rounds) if n is not None), None)
