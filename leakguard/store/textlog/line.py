"""What a logger, a launcher or a container runtime puts before every line."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from leakguard.store.spellings import SPELLED

_ESCAPES = re.compile(
    rb"(?:\x1b|\^\[)\[[0-?]*[ -/]*[@-~]|\x1b(?:\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)?|[@-Z\\^_])"
)
_LINE_END = re.compile(r"[\r\n]")
_CONTROLS = dict.fromkeys((*range(32), 0x7F, *range(0x80, 0xA0), 0xA0), " ")
# A progress bar is printed without a line end, so the next text follows it on the same line.
_RATE = re.compile(r"\d(?:it/s|s/it|B/s)")
# rich and some formatters print the place of the call at the right margin.
_PLACE_AT_END = re.compile(r"[\w./\\-]{1,120}\.py:\d{1,9}")
_LONGEST_BAR = 2000
_JSON_TEXT = ("log", "message", "msg", "event", "text")
_JSON_RANK = ("rank", "local_rank")
_JSON_POD = ("pod", "pod_name", "container", "container_name", "Name")
_POD = re.compile(r"[\w.:-]{1,100}")
_MOST_FIELDS, _DEEPEST, _LONGEST_FIELD = 100, 3, 100


def texts(piece: bytes | bytearray) -> list[str]:
    """Return the lines of a piece of a log; a JSON record on one line may hold several.

    Lines end at ``\\n`` and ``\\r`` only, because the other Unicode line ends occur in garbled
    text.
    """
    if b"\x1b" in piece or b"^[" in piece:
        piece = _ESCAPES.sub(b"", piece)
    lines = _LINE_END.split(piece.decode("utf-8", "replace"))
    if b"{" in piece:
        lines = [text for line in lines for text in _unpacked(line)]
    return [_tidy(line) for line in lines]


def _tidy(text: str) -> str:
    if not text.isprintable():
        text = text.translate(_CONTROLS)
    text = text.rstrip()
    if ("/s" in text or "s/it" in text) and len(text) < _LONGEST_BAR:
        text = _without_bar(text)
    if ".py:" in text[-100:]:
        text = _without_place(text)
    return text


def _without_bar(text: str) -> str:
    """Return the text directly after the closing bracket of the last progress bar."""
    end = text.rfind("]", 0, len(text) - 1)
    while end >= 0:
        begin = text.rfind("]", 0, end)
        is_followed = text[end + 1] != " " or text.startswith("   ", end + 1)
        if is_followed and _RATE.search(text, begin + 1, end) is not None:
            return text[end + 1 :]
        end = begin
    return text


def _without_place(text: str) -> str:
    last = text.split(" ")[-1]
    if _PLACE_AT_END.fullmatch(last) is None or not text.endswith("  " + last):
        return text
    return text[: -len(last)].rstrip()


def _unpacked(line: str) -> list[str]:
    """Return the lines in the JSON record of a container runtime or a log formatter."""
    if not line.startswith("{"):
        return [line]
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return [line]
    if not isinstance(record, dict):
        return [line]
    found = (record.get(key) for key in _JSON_TEXT)
    text = next((value for value in found if isinstance(value, str)), None)
    fields = ", ".join(_fields(record))
    if SPELLED.search(fields) is None:
        fields = ""
    if text is None and not fields:
        return [line]
    text = _ESCAPES.sub(b"", (text or "").encode("utf-8", "replace")).decode("utf-8", "replace")
    prefix = _speaker_of(record)
    said = [*_LINE_END.split(text)] if text else []
    return [prefix + line for line in (*said, *([fields] if fields else ()))]


def _speaker_of(record: Mapping[str, object]) -> str:
    """Return a prefix that names the process that wrote a record; empty if it is unknown."""
    rank = next((record[key] for key in _JSON_RANK if type(record.get(key)) is int), None)
    if rank is not None:
        return f"[rank{rank}]: "
    pods = (record.get(key) for key in _JSON_POD)
    pod = next((pod for pod in pods if isinstance(pod, str) and _POD.fullmatch(pod)), None)
    return "" if pod is None else f"pod/{pod} "


def _fields(record: Mapping[str, object], path: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the numbers and short texts of a record as ``key=value``; a nested key is its path."""
    for key, value in islice(record.items(), _MOST_FIELDS):
        name = f"{path}.{key}" if path else key
        if isinstance(value, dict) and depth < _DEEPEST:
            yield from _fields(value, name, depth + 1)
        elif type(value) in (int, float) or (
            isinstance(value, str)
            and len(value) < _LONGEST_FIELD
            and not (depth == 0 and key in _JSON_TEXT)
        ):
            yield f"{name}={value}"


_DAY = r"\d{4}[-/]\d\d[-/]\d\d[T _]"
_CLOCK = r"\d\d?:\d\d:\d\d(?:[.,]\d{1,12})?(?:\s?[AP]M\b)?(?:Z|\s?[+-]\d\d:?\d\d\b)?"
_TIME = (
    rf"(?:{_DAY}|[A-Z][a-z]{{2}}\s{{1,2}}\d{{1,2}}\s)?{_CLOCK}|\b[IWEFD]\d{{4}}\s{_CLOCK}"
    r"|(?<![\d.])\d{1,12}\.\d{1,12}"
)
_LEVELS = r"\b(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b"
_WHO = (
    r"\b(?i:rank|worker|node|proc|process|actor|gpu|replica|pod|host|learner|trainer|job|task|pid)"
    r"[\s_=:#-]{0,20}\d{1,9}\b(?!:\d\d|[-.,]\d)"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}\b|\bpod/[^\s\]]{1,200}|\[default\d{1,6}\]:|\[\d{1,9},\d{1,6}\]<std"
    r"|(?<![\w.-])[\w.-]{1,100}\[\d{1,9}\]:"
)
_PLACE = (
    r"(?<![\w./\\<>-])[\w./\\<>-]{1,120}\.py:\d{1,9}(?::\w{1,80})?"
    r"|(?<![\w.])[\w.]{1,100}:[\w<>]{1,80}:\d{1,9}\b"
)
_PARTS = re.compile(
    rf"(?P<who>{_WHO})"
    rf"|(?P<time>\[?(?:{_TIME})\]?)"
    rf"|(?P<place>{_PLACE})"
    rf"|(?P<level>{_LEVELS}(?: +(?=[|:\]-]))?)"
)
_GENERAL = {"time": rf"\[?(?:{_TIME})\]?", "place": r"[^\s:]{1,120}(?::[\w<>]{1,80}){0,2}",
            "level": r"(?:[A-Z]{1,12} {0,12}?)"}  # fmt: skip
# The most parts of a prefix that may differ from line to line. Chosen: four, because a logger
# prints one time, one level and one or two places. Any further time, level or place must be the
# same in the prefix of each line of a block.
_MOST_GENERAL = 4

_RANK = re.compile(r"(?:(?i:rank)[\s_=:#-]{0,20}|\[default|\[\d{1,9},)(\d{1,6})")
_PID = re.compile(r"(?i:pid)[\s_=:#-]{0,20}(\d{1,9})|[\w.-]{1,100}\[(\d{1,9})\]:")
_SERVICE = re.compile(r"([A-Za-z][\w.-]*)\s*\|")
_NUMBERED = re.compile(r"(\d{1,5}):|\[(\d{1,5})\].*")


class Speaker(NamedTuple):
    """The process, among several, that wrote a line.

    ``sure`` is false if the prefix only contains a number, which may count something.
    """

    name: str | None = None
    rank: int | None = None
    pid: int | None = None
    sure: bool = True


class Prefix:
    """The text before the payload of a block's lines, and how to find it on other lines.

    ``fixed`` is true if the prefix was repeated unchanged on a second line. Otherwise a number in
    the prefix may be a line number or a counter.
    """

    __slots__ = ("_constant", "_pattern", "fixed", "text")

    @staticmethod
    @functools.lru_cache(maxsize=512)
    def of(text: str, fixed: bool) -> Prefix:
        """Return the prefix object for this text; equal arguments share a cached object."""
        return Prefix(text, fixed)

    def __init__(self, text: str, fixed: bool) -> None:
        self.text = text
        self.fixed = fixed
        self._constant: str | None = None
        self._pattern: re.Pattern[str] | None = None

    @property
    def constant(self) -> str:
        """The text without clock times, levels and source lines."""
        if self._constant is None:
            self._constant = constant(self.text)
        return self._constant

    def end(self, line: str) -> int | None:
        """Return where the payload of ``line`` begins; None if the line has another prefix."""
        if self.fixed and line.startswith(self.text):
            return len(self.text)
        if self.fixed and self.constant == " ".join(self.text.split()):
            return None  # no part of this prefix ever changes
        if self._pattern is None:  # compiling takes longer than reading a block
            self._pattern = _pattern(self.text, self.fixed)
        match = self._pattern.match(line)
        return None if match is None else match.end()


def constant(text: str) -> str:
    """Return a prefix without its clock times, levels and source lines."""
    rest = _PARTS.sub(lambda part: part[0] if part["who"] else " ", text)
    return " ".join(rest.split())


def _pattern(text: str, fixed: bool) -> re.Pattern[str]:
    parts, position, left = [], 0, _MOST_GENERAL
    for match in _PARTS.finditer(text):
        general = _GENERAL.get(str(match.lastgroup)) if left else None
        # rich prints a time once, and spaces in its place on the lines below
        if match["time"] and general:
            general = rf"(?:{general}| {{{len(match[0])}}})"
        left -= general is not None
        parts += [_literal(text[position : match.start()], fixed), general or re.escape(match[0])]
        position = match.end()
    parts.append(_literal(text[position:], fixed))
    return re.compile("".join(parts))


def _literal(text: str, fixed: bool) -> str:
    escaped = re.escape(text)
    if fixed:
        return escaped
    # grep prints the line number of a match as `12:` and that of its context as `13-`.
    numbers = re.sub(r"(?:\\ ){0,20}\d{1,40}", r" {0,20}\\d{1,40}(?!\\d)", escaped)
    return numbers.replace(":", "[:-]")


@functools.lru_cache(maxsize=512)
def speaker(prefix: Prefix) -> Speaker:
    """Return the process that a prefix names."""
    rest, position = [], 0
    for part in _PARTS.finditer(prefix.text):
        if part["who"]:
            return _speaker(part["who"])
        rest.append(prefix.text[position : part.start()])
        position = part.end()
    bare = "".join((*rest, prefix.text[position:])).strip()
    if (service := _SERVICE.fullmatch(bare)) is not None:
        return Speaker(service[1])
    if not prefix.fixed or re.search(r"\d", bare) is None:
        return Speaker()
    if (number := _NUMBERED.fullmatch(bare)) is not None:
        rank = int(number[1] or number[2])
        return Speaker(f"rank {rank}", rank, sure=False)
    return Speaker(bare.strip(" :|>-"), sure=False)


def _speaker(who: str) -> Speaker:
    if (match := _RANK.match(who)) is not None:
        return Speaker(f"rank {int(match[1])}", int(match[1]))
    if (match := _PID.match(who)) is not None:
        pid = int(match[1] or match[2])
        return Speaker(f"pid {pid}", pid=pid)
    return Speaker(who)


_WHEN = re.compile(rf"({_DAY})(\d\d:\d\d:\d\d)(?:[.,](\d{{1,6}}))?\d*(Z|[+-]\d\d:?\d\d)?")


def when(text: str) -> datetime | None:
    """Return the date and time in a prefix; without a time zone, both are in the log's own zone."""
    match = _WHEN.search(text)
    if match is None:
        return None
    day = match[1][:-1].replace("/", "-")
    zone = (match[4] or "").replace("Z", "+00:00")
    if zone and ":" not in zone:
        zone = f"{zone[:3]}:{zone[3:]}"
    try:
        return datetime.fromisoformat(f"{day}T{match[2]}.{(match[3] or '0'):0<6}{zone}")
    except ValueError:
        return None
