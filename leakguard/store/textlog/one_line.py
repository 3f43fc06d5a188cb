"""The one-line forms: a trend for logs that have no memory blocks, and the round that runs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from leakguard.model import Gauge, Watched
from leakguard.model.snapshot import Moment
from leakguard.store.textlog.draft import Draft
from leakguard.store.textlog.events import Events
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
PENDING = "uploads pending"


@dataclass(slots=True)
class Spoken:
    """What one process has said last: its round and phase, its queue, the moment that is open."""

    generation: int | None = None
    phase: str | None = None
    pending: Gauge | None = None
    open: Draft | None = None

    def enter(self, generation: int, phase: str | None) -> None:
        """Go on to another round or phase."""
        if (generation, phase) != (self.generation, self.phase):
            self.generation, self.phase, self.open = generation, phase, None


class OneLiners:
    """Feed it lines; it knows the round that runs, and the moments that single lines tell of."""

    def __init__(self) -> None:
        self._spoken: dict[Speaker, Spoken] = {}
        self.points = Events()
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
            gauge = Gauge(parse_count(match[1]) or 0)
            self._point(line, match, "pending").gauges[PENDING] = gauge
            self._by(line, match).pending = gauge

    def add_to(self, draft: Draft, who: Speaker) -> None:
        """Tell a snapshot the round it was printed in, and a queue announced before it."""
        spoken = self._spoken.get(who) or self._spoken.get(Speaker())
        if spoken is None:
            return
        draft.round = spoken.generation
        if spoken.pending is not None:
            draft.gauges.setdefault(PENDING, spoken.pending)
            spoken.pending = None

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
            self.points.add(_who(line, match), draft)
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
