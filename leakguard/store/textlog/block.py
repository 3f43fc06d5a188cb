"""Extracts framed blocks from a log in which several processes may print at the same time."""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from leakguard.store.textlog.line import Prefix

_BLOCK = re.compile(
    rb"={20,}\n([^=\n\r]*)MEMORY SNAPSHOT:([^\n\r]*)\n={20,}\n"
    rb"((?:[^=\n\r][^\n\r]*\n)+)={20,}(?:\n|\Z)"
)
# A block that contains one of these is read line by line, and not as a whole: a second heading or
# frame, the rate of a progress bar (``it/s``), or the place of a logging call (``train.py:12``).
# The last two must be removed from their line.
_ODD = ("MEMORY ", "=" * 20, "/s", ".py:")
_LONGEST_BLOCK_LINE = 2000


class Plain(NamedTuple):
    """The text before the heading's words, the label, the rows, and where the block ends."""

    lead: str
    label: str
    rows: list[str]
    end: int


def plain_block(piece: bytearray) -> Plain | None:
    """Return the block at the start of a piece of a log; None unless it is undamaged."""
    match = _BLOCK.match(piece)
    if match is None:
        return None
    lead, label, body = (match[n].decode("utf-8", "replace") for n in (1, 2, 3))
    rows = body.split("\n")[:-1]
    text = "".join((lead, label, *rows))
    if (
        not text.isprintable()
        or len(text) > _LONGEST_BLOCK_LINE
        or any(odd in text for odd in _ODD)
    ):
        return None
    return Plain(lead, label.strip(), [row.rstrip() for row in rows], match.end())


Kind = Literal["SNAPSHOT", "TREND", "GROWTH", "RECORD"]

_LABELLED: tuple[Kind, ...] = ("SNAPSHOT", "RECORD")  # a text follows on the heading's line
_FRAME = "=" * 20
_HEADING = "MEMORY "
_CAPITALS = string.ascii_uppercase + " "
# A pictograph, its garbled bytes, its replacement character, or its name in ASCII.
PICTOGRAPH = (
    r"(?:\\U[0-9a-fA-F]{8}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\N\{[^}]{0,80}\}|&#\w{1,10};"
    r"|:(?:mag|bar_chart|chart_with_upwards_trend|floppy_disk|video_game)\w{0,20}:"
    r"|[^\x00-\x7f]|\?|[ \t])*"
)
_PICTOGRAPH = re.compile(PICTOGRAPH)
_VERDICTS = ("LEAK DETECTED", "LEAK SUSPECTED", "NOT DECIDED", "NO LEAK", "NOT A LEAK")
# What the lines of a block look like; other lines between them are noise.
_CONTENT = re.compile(r".*:(?:\s+\S.*)?$|.*\d\s+(?:baseline|[+-]\d.*|[+-]?)$|[-\s]*$|Label\s")
_STARTS: dict[Kind, re.Pattern[str]] = {
    "SNAPSHOT": re.compile(
        rf"{PICTOGRAPH}(?:Process Memory|GPU Memory|Object Counts):|\s*(?:RSS|VMS) \("
    ),
    "TREND": re.compile(r"\s*Label\s+RAM|\s*-{10}|.*\d\s+(?:baseline|[+-]\d)"),
    "GROWTH": re.compile(r"\s*(?:Baseline|Current|RAM Usage|Object Count Changes):"),
}
_MOST_NOISE_LINES = 400
_LONGEST_PREFIX, _LONGEST_PAYLOAD = 300, 2000
_MOST_LINES: dict[Kind, int] = {"SNAPSHOT": 2000, "TREND": 100_000, "GROWTH": 2000}
_QUOTE_LINES = 80


def without_pictograph(text: str) -> str:
    """Return what follows the pictograph before a title; at least the last character."""
    match = _PICTOGRAPH.match(text)
    return text[match.end() :] or text[-1:] if match is not None else text


def _without_pictograph_at_end(text: str) -> str:
    """Return the text without the pictograph that it ends with."""
    starts = (n for n in range(len(text)) if _PICTOGRAPH.fullmatch(text, n))
    return text[: next(starts, len(text))]


def _heading_of(line: str) -> tuple[str, Kind, str] | None:
    """Return the lead, kind and label of the first heading that extends to the end of a line."""
    capitals_from = len(line.rstrip(_CAPITALS))
    start = line.find(_HEADING)
    while start >= 0:
        rest = start + len(_HEADING)
        for told in _LABELLED:
            if line.startswith(f"{told}:", rest):
                return line[:start], told, line[rest + len(told) + 1 :].strip()
        kind: Kind = "TREND" if line.startswith("TREND", rest) else "GROWTH"
        if line.startswith(kind, rest) and capitals_from <= rest + len(kind):
            words = line[rest + len(kind) :][:2]
            if not words or (words[0] == " " and words[1:] != " "):
                return line[:start], kind, ""
        start = line.find(_HEADING, rest)
    return None


def _is_content(payload: str) -> bool:
    return payload.startswith("   ") or _CONTENT.match(payload) is not None


@dataclass(slots=True)
class Block:
    """The payload lines of one block; for each, whether its line end was read.

    ``cut`` is true if the closing frame never came. ``quoted`` is true if the block follows a
    diagnosis, which repeats a snapshot.
    """

    kind: Kind
    label: str
    prefix: Prefix
    quoted: bool = False
    cut: bool = True
    lines: list[tuple[str, bool]] = field(default_factory=list)
    noise: int = 0
    underlined: bool = False
    started: bool = False

    def add(self, payload: str, whole: bool) -> None:
        """Keep a line if it can belong to a block."""
        if len(payload) > _LONGEST_PAYLOAD:
            self.noise += 1
            return
        if not self.started:
            self.started = _STARTS[self.kind].match(payload) is not None
        if _is_content(payload) and len(self.lines) < _MOST_LINES[self.kind]:
            self.lines.append((payload, whole))
            self.noise = 0
        else:
            self.noise += 1

    def frame(self) -> bool:
        """Process a line of ``=``; return whether it closes the block."""
        closes = self.started or (self.underlined and bool(self.lines))
        self.underlined = True
        return closes


class Blocks:
    """Takes the lines of a log; delivers each block when its last line has come."""

    def __init__(self, deliver: Callable[[Block], None]) -> None:
        self._deliver = deliver
        self._open: list[Block] = []
        self._frames: dict[str, Prefix] = {}
        self._quote = 0

    @property
    def busy(self) -> bool:
        """True while a block is open, so that the next lines matter."""
        return bool(self._open)

    def feed(self, line: str, whole: bool) -> None:
        """Process one line without its line end."""
        self._quote -= 1
        if _HEADING in line and (heading := _heading_of(line)) is not None:
            self._heading(*heading)
        elif line.endswith(_FRAME):
            self._frame(line.rstrip("="))
        elif self._open and line:
            self._body(line, whole)
        elif ("LEAK" in line or "NOT DECIDED" in line) and line.endswith(
            _VERDICTS, 0, -1 if line[-1] == ":" else None
        ):
            self._quote = _QUOTE_LINES

    def feed_plain(self, piece: bytearray) -> int:
        """Process an undamaged block at the start of a piece; return where it ends, or 0."""
        plain = None if self._open or self._quote > 0 else plain_block(piece)
        if plain is None or _PICTOGRAPH.fullmatch(plain.lead) is None:
            return 0
        if not all(map(_is_content, plain.rows)):
            return 0
        prefix = Prefix.of("", True)
        self._frames[prefix.constant] = prefix
        rows = [(row, True) for row in plain.rows]
        self._deliver(Block("SNAPSHOT", plain.label, prefix, cut=False, lines=rows))
        return plain.end

    def close(self) -> None:
        """Deliver the blocks that are still open, as cut ones."""
        for block in list(self._open):
            self._finish(block, cut=True)
        self._frames.clear()

    def _heading(self, lead: str, kind: Kind, label: str) -> None:
        prefix = self._prefix_of(lead)
        if kind == "RECORD":  # a line alone
            self._deliver(Block(kind, label, prefix, cut=False))
            return
        for block in list(self._open):
            if block.prefix.constant == prefix.constant:
                self._finish(block, cut=True)
        self._open.append(Block(kind, label, prefix, quoted=self._quote > 0))
        self._quote = 0

    def _prefix_of(self, lead: str) -> Prefix:
        """Return the prefix: the text before the frame above, else the lead before a pictograph."""
        if len(lead) > _LONGEST_PREFIX:
            return Prefix.of("", False)
        last = next(reversed(self._frames.values()), None)
        own = last is not None and last.text and lead.startswith(last.text)
        if last is not None and own and _PICTOGRAPH.fullmatch(lead, len(last.text)):
            return last
        for frame in sorted(self._frames.values(), key=lambda p: len(p.text), reverse=True):
            end = frame.end(lead)
            if end is not None and _PICTOGRAPH.fullmatch(lead, end):
                return Prefix.of(lead[:end], True)
        return Prefix.of(lead[:-40] + _without_pictograph_at_end(lead[-40:]), False)

    def _frame(self, text: str) -> None:
        if len(text) > _LONGEST_PREFIX:
            return
        frame = Prefix.of(text, True)
        self._frames.pop(frame.constant, None)
        self._frames[frame.constant] = frame  # the most recent frame is last
        if len(self._frames) > 256:
            del self._frames[next(iter(self._frames))]
        for block in list(self._open):
            end = block.prefix.end(text)
            same = block.prefix.constant == frame.constant or not block.prefix.fixed
            if end is not None and same and not text[end:].strip() and block.frame():
                self._finish(block, cut=False)

    def _body(self, line: str, whole: bool) -> None:
        if line == "--":  # grep prints it between two matches
            self.close()
            return
        block, start = self._owner(line)
        if block is None:
            block = self._open[-1]
            block.noise += 1
        else:
            block.add(line[start:], whole)
        if block.noise > _MOST_NOISE_LINES:
            self._finish(block, cut=True)

    def _owner(self, line: str) -> tuple[Block | None, int]:
        """Return the open block with the longest prefix that fits, and the payload's start."""
        if len(self._open) == 1 and not self._open[0].prefix.text:
            return self._open[0], 0
        best, start = None, -1
        for block in self._open:
            end = block.prefix.end(line)
            if end is not None and end >= start:
                best, start = block, end
        return (best, start) if best is not None else (self._unprefixed(line), 0)

    def _unprefixed(self, line: str) -> Block | None:
        """Return the block that a line without prefix starts.

        If one record holds a whole block, only the first line of the record may carry the prefix.
        """
        for block in reversed(self._open):
            if not block.started and _STARTS[block.kind].match(line):
                block.prefix = Prefix.of("", True)
                return block
        return None

    def _finish(self, block: Block, cut: bool) -> None:
        self._open.remove(block)
        block.cut = cut
        self._deliver(block)
