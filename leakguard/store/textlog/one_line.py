"""Single lines that give memory, and lines that announce the current round and phase."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from leakguard.model import Gauge, Watched
from leakguard.store.spellings import MEMORY_WORDS, NUMBER, STEP, STEP_WORDS
from leakguard.store.textlog.line import Prefix, Speaker, speaker, when
from leakguard.store.textlog.moment import NO_ROUNDS, Draft, Rounds
from leakguard.store.textlog.number import parse_count
from leakguard.store.textlog.spelled import SpelledSize, spelled_sizes
from leakguard.store.textlog.tool_table import ToolTables

# A line matters if it contains a word for memory or one of these. Lines that only count rounds, as
# in ``[3/25]``, do not matter, because such brackets are common. If no other line names a round,
# the log is read once more, and brackets then name rounds.
_OWN_WORDS = ("Live ", " in memory: ", "eneration", "Gen", "poch", "Upload status: ")
ANCHORS = tuple(word.encode() for word in (*MEMORY_WORDS, *_OWN_WORDS))
BRACKETS = tuple(b"\n[%d" % digit for digit in range(10))
_BEFORE = 40  # characters
_MEMORY = re.compile("|".join(map(re.escape, MEMORY_WORDS)))
_WORDS = re.compile(f"{_MEMORY.pattern}|" + "|".join(map(re.escape, _OWN_WORDS)))

_LIVE = re.compile(
    rf"\b(?:Live (\w{{1,80}})|(\w{{1,80}}) in memory): ({NUMBER})(?![\d.,]{0, 30}\d)"
)
# A number and certain characters after it announce a round: "Generation 5 was the best" is prose. A
# number with nothing after it announces a round only at the beginning of a line or sentence.
_ROUND = re.compile(
    r"\b(?P<word>[Gg]eneration|GENERATION|[Gg]en|GEN|[Ee]poch|EPOCH)\b['\".]?\s{0,2}[:=#]?\s{0,2}"
    r"\[?(?P<number>\d{1,15})"
    r"(?:\s?(?:[:/|\],)}]|- |\.\d)|(?P<bare>\s{0,2}(?:[=*.]|--|of \d|$)))"
)
_OPENERS = ("DEBUG", "INFO", "WARNING", "Start", "Starting", "Begin", "Beginning", "Running",
            "starting", "running")  # fmt: skip
_BRACKET = re.compile(r"\[(\d{1,9})\s?/\s?(\d{1,9})\]")
_STEPS = {"generation": "generation", "gen": "generation", "epoch": "epoch"}
_PHASE = re.compile(r"--- ?Generation (?P<number>\d{1,15}): (?P<phase>\S[^-]{0,120}?) ?---")
_PENDING = re.compile(rf"\bUpload status: ({NUMBER})\+? pending")
PENDING = "uploads pending"
# At most ``_MOST_LINES`` moments of one round or phase are kept; each further line overwrites the
# values of the last one. This begins once a process has changed its round or phase more than
# ``_SEVERAL_ROUNDS`` times. Chosen.
_MOST_LINES, _SEVERAL_ROUNDS = 8, 3


@dataclass(slots=True)
class Spoken:
    """What one process printed last: its round and phase, its queue length, and the open moment."""

    rounds: Rounds = NO_ROUNDS
    phase: str | None = None
    pending: Gauge | None = None
    open: Draft | None = None
    lines: int = 0
    changes: int = 0

    def enter(self, rounds: Rounds, phase: str | None) -> None:
        """Change to another round or phase."""
        if rounds == self.rounds and phase in (None, self.phase):
            return
        self.rounds, self.phase, self.open = rounds, phase, None
        self.lines = 0
        self.changes += 1


@dataclass(slots=True)
class OneLiners:
    """Takes the lines of a log; tracks the current round, and makes moments of single lines.

    ``deliver`` gets each moment when its first value has come; later values are added to it. With
    ``brackets``, ``[n/N]`` names a round even on a line without a value.
    """

    deliver: Callable[[Speaker, Draft], None]
    brackets: bool = False
    memory_limit: int | None = None
    folded: int = 0
    lines: int = 0
    tables: ToolTables = field(default_factory=ToolTables)
    _spoken: dict[Speaker, Spoken] = field(default_factory=dict)

    def feed(self, line: str, whole: bool) -> None:
        """Process one line without its line end."""
        self.lines += 1
        matters = _WORDS.search(line) is not None
        of_memory = _MEMORY.search(line) if matters else None
        if (of_memory or self.tables.busy) and self.tables.feed(line):
            return
        if not (matters or (self.brackets and "[" in line)):
            return
        # Sizes are searched for from ``_BEFORE`` characters before the first word for memory on,
        # because a word such as "used" may precede it.
        sizes = spelled_sizes(line, whole, of_memory.start() - _BEFORE) if of_memory else []
        self._take_round(line, self.brackets or bool(sizes))
        if sizes:
            self._take_sizes(line, sizes)
        if "Live " in line or " in memory: " in line:
            self._take_counts(line, whole)
        if "Upload" in line and (queue := _PENDING.search(line)) is not None:
            gauge = Gauge(parse_count(queue[1]) or 0)
            self._point(line, queue, "pending").gauges[PENDING] = gauge
            self._by(line, queue).pending = gauge

    def add_to(self, draft: Draft, who: Speaker) -> None:
        """Add to a snapshot the round in which it was printed, and a queue announced before it."""
        draft.order = self.lines
        spoken = self._spoken.get(who) or self._spoken.get(Speaker())
        if spoken is None:
            return
        draft.rounds = spoken.rounds
        if spoken.pending is not None:
            draft.gauges.setdefault(PENDING, spoken.pending)
            spoken.pending = None

    def _take_round(self, line: str, brackets: bool) -> None:
        if "--- " in line and (match := _PHASE.search(line)) is not None:
            self._by(line, match).enter(Rounds(int(match["number"])), match["phase"])
        elif (match := _ROUND.search(line)) is not None and _is_announcement(line, match):
            spoken, number = self._by(line, match), int(match["number"])
            if match["word"][0] in "Gg":
                same = spoken.rounds.generation == number
                spoken.enter(spoken.rounds if same else Rounds(number), None)
            else:
                spoken.enter(spoken.rounds._replace(epoch=number, counted=None), None)
        elif brackets and (match := _BRACKET.search(line)) is not None:
            spoken = self._by(line, match)
            if int(match[1]) <= int(match[2]):
                spoken.enter(spoken.rounds._replace(counted=int(match[1])), None)

    def _take_steps(self, line: str, spoken: Spoken) -> None:
        """Read the rounds that a line counts next to its memory: ``step=1200``, ``"epoch": 3``."""
        low = line.lower()
        if not any(word in low for word in STEP_WORDS):
            return
        for match in STEP.finditer(line):
            kind = _STEPS.get(match["word"].lower(), "counted")
            spoken.enter(spoken.rounds._replace(**{kind: int(match["number"])}), None)

    def _take_sizes(self, line: str, sizes: Sequence[SpelledSize]) -> None:
        self._take_steps(line, self._by(line, sizes[0].match))
        for size in sizes:
            draft = self._point(line, size.match, size.metric, size.rank)
            if size.metric in draft.metrics and draft.rank_of(size.metric) < size.rank:
                continue
            draft.metrics[size.metric] = size.bytes
            draft.ranks[size.metric] = size.rank
            if size.metric == "rss":
                draft.step = size.step
                self.memory_limit = size.limit or self.memory_limit

    def _take_counts(self, line: str, whole: bool) -> None:
        for live in _LIVE.finditer(line):
            if whole or live.end() < len(line):
                self._take_count(line, live)

    def _take_count(self, line: str, match: re.Match[str]) -> None:
        name, count = match[1] or match[2], parse_count(match[3])
        if count is not None:
            self._point(line, match, name).watched[name] = Watched(count)

    def _by(self, line: str, match: re.Match[str]) -> Spoken:
        who = _who(line, match)
        spoken = self._spoken.get(who)
        if spoken is None:
            # Often only the main process announces rounds, on lines without the name of a process.
            # So a new process begins in the round that such lines announced.
            main = self._spoken.get(Speaker())
            spoken = self._spoken[who] = Spoken() if main is None else Spoken(main.rounds)
        return spoken

    def _point(self, line: str, match: re.Match[str], key: str, rank: int = 0) -> Draft:
        """Return the moment that a value belongs to; a repeated value begins the next moment."""
        spoken = self._by(line, match)
        draft = spoken.open
        if draft is not None and _has(draft, key) and draft.rank_of(key) == rank:
            if spoken.lines >= _MOST_LINES and spoken.changes > _SEVERAL_ROUNDS:
                self.folded += 1
                draft.time = when(line) or draft.time
                return draft
            draft = None
        if draft is None:
            draft = spoken.open = Draft.single(spoken.rounds, spoken.phase, self.lines)
            draft.time = when(line)
            spoken.lines += 1
            self.deliver(_who(line, match), draft)
        return draft


def _who(line: str, match: re.Match[str]) -> Speaker:
    return speaker(Prefix.of(line[max(0, match.start() - 200) : match.start()], False))


def _is_announcement(line: str, match: re.Match[str]) -> bool:
    if match["bare"] is None:
        return True
    before = line[max(0, match.start() - 40) : match.start()].rstrip()
    return not before[-1:].isalnum() or before.rsplit(None, 1)[-1] in _OPENERS


def _has(draft: Draft, key: str) -> bool:
    if key == "pending":
        return bool(draft.gauges)
    return key in draft.metrics or key in draft.watched
