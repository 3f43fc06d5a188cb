"""The one-line forms: a trend for logs that have no memory blocks, and the round that runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from leakguard.model import Gauge, Watched
from leakguard.model.snapshot import Moment
from leakguard.store.textlog.draft import Draft
from leakguard.store.textlog.label import Place
from leakguard.store.textlog.number import NUMBER, parse_bytes, parse_count, resolution
from leakguard.store.textlog.prefix import Prefix, Speaker, speaker, when

ANCHORS = (b"RAM", b"Live ", b" in memory: ", b"Generation ", b"Epoch ", b"Upload status: ")
_WORDS = tuple(anchor.decode() for anchor in ANCHORS)

_SIZE = rf"{NUMBER}\s*[KMGTkmgt]?(?:i?B)?\b"
_RAM = re.compile(rf"\bRAM(?: usage| used)?:\s*(?P<used>{_SIZE})(?:\s*/\s*(?P<limit>{_SIZE}))?")
_LIVE = re.compile(rf"\b(?:Live (\w+)|(\w+) in memory): ({NUMBER})(?![\d.,]*\d)")
_ROUND = re.compile(r"\b(?:Generation|Epoch) (\d{1,15})\s*/\s*\d+")
_PHASE = re.compile(r"--- *Generation (\d{1,15}): (\S.*?) *---")
_PENDING = re.compile(rf"\bUpload status: ({NUMBER})\+? pending")
_MOST_POINTS = 4096


@dataclass(slots=True)
class Spoken:
    """What one process has said so far: its round and phase, and the moments of it."""

    generation: int | None = None
    phase: str | None = None
    points: list[Draft] = field(default_factory=list)
    open: Draft | None = None
    stride: int = 1
    skip: int = 0

    def enter(self, generation: int, phase: str | None) -> None:
        """Go on to another round or phase."""
        if (generation, phase) != (self.generation, self.phase):
            self.generation, self.phase, self.open = generation, phase, None


class OneLiners:
    """Feed it lines; it knows the round that runs, and the moments that single lines tell of."""

    def __init__(self) -> None:
        self._spoken: dict[Speaker, Spoken] = {}
        self.memory_limit: int | None = None
        self.folded = 0

    def feed(self, line: str, whole: bool) -> None:
        """Take one line without its line end."""
        if not any(word in line for word in _WORDS):
            return
        if (match := _PHASE.search(line)) is not None:
            self._by(line, match).enter(int(match[1]), match[2])
        elif (match := _ROUND.search(line)) is not None:
            self._by(line, match).enter(int(match[1]), None)
        if (match := _RAM.search(line)) is not None:
            self._take_ram(line, match, whole)
        for match in _LIVE.finditer(line):
            if whole or match.end() < len(line):
                self._take_count(line, match)
        if (match := _PENDING.search(line)) is not None:
            self._point(line, match, "pending").gauges["uploads pending"] = Gauge(
                parse_count(match[1]) or 0
            )

    def generation(self, who: Speaker) -> int | None:
        """Return the round that a process said it is in."""
        spoken = self._spoken.get(who)
        return None if spoken is None else spoken.generation

    def points(self) -> Iterator[tuple[Speaker, Draft]]:
        """Yield the moments, one process after the other."""
        for who, spoken in self._spoken.items():
            for draft in spoken.points:
                yield who, draft

    def _take_ram(self, line: str, match: re.Match[str], whole: bool) -> None:
        size = parse_bytes(match["used"], whole or match.end("used") < len(line))
        if size is None:
            return
        draft = self._point(line, match, "rss")
        draft.metrics["rss"] = size
        draft.step = resolution(match["used"])
        if match["limit"] is not None:
            limit = parse_bytes(match["limit"], whole or match.end("limit") < len(line))
            self.memory_limit = limit or self.memory_limit

    def _take_count(self, line: str, match: re.Match[str]) -> None:
        name, count = match[1] or match[2], parse_count(match[3])
        if count is not None:
            self._point(line, match, name).watched[name] = Watched(count)

    def _by(self, line: str, match: re.Match[str]) -> Spoken:
        return self._spoken.setdefault(_who(line, match), Spoken())

    def _point(self, line: str, match: re.Match[str], key: str) -> Draft:
        """The moment a value belongs to; a value that comes again begins the next moment."""
        spoken = self._by(line, match)
        draft = spoken.open
        if draft is not None and _has(draft, key):
            if spoken.generation is not None:
                self.folded += 1
                draft.time = when(line) or draft.time
                return draft
            draft = None
        if draft is None:
            draft = spoken.open = _begin(spoken)
            draft.time = when(line)
            _append(spoken, draft)
        return draft


def _who(line: str, match: re.Match[str]) -> Speaker:
    return speaker(Prefix.of(line[max(0, match.start() - 200) : match.start()], False))


def _has(draft: Draft, key: str) -> bool:
    if key == "pending":
        return bool(draft.gauges)
    return key in draft.metrics or key in draft.watched


def _begin(spoken: Spoken) -> Draft:
    if spoken.generation is None:
        return Draft("RAM", Place("mark", "RAM", None))
    label = f"Gen {spoken.generation}" + (f": {spoken.phase}" if spoken.phase else "")
    moment: Moment = "phase" if spoken.phase else "mark"
    return Draft(label, Place(moment, spoken.phase, spoken.generation))


def _append(spoken: Spoken, draft: Draft) -> None:
    """Keep evenly spaced moments of a log that never says which round it is in."""
    spoken.skip = (spoken.skip + 1) % spoken.stride
    if spoken.generation is None and spoken.skip:
        return
    spoken.points.append(draft)
    if spoken.generation is None and len(spoken.points) > _MOST_POINTS:
        del spoken.points[1::2]
        spoken.stride *= 2
