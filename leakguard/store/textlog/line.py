"""Lines of a log, freed from what terminals and containers add to them."""

from __future__ import annotations

import json
import re

_ESCAPES = re.compile(
    rb"(?:\x1b|\^\[)\[[0-?]*[ -/]*[@-~]|\x1b(?:\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)?|[@-Z\\^_])"
)
_LINE_END = re.compile(r"[\r\n]")
_CONTROLS = dict.fromkeys((*range(32), 0x7F, *range(0x80, 0xA0), 0xA0), " ")
# A progress bar ends without a line end, so what is printed next stands on its line.
_BAR = re.compile(r"^.*\d(?:it/s|s/it|B/s)[^\]]*\](?=\S| {3})")
# rich and some formatters put the place of the call at the right margin.
_PLACE_AT_END = re.compile(r"\s{2,}[\w./\\-]+\.py:\d+\s*$")
_LONGEST_BAR = 2000
_JSON_TEXT = ("log", "message", "msg", "event", "text")
_JSON_RANK = ("rank", "local_rank")


def texts(piece: bytes | bytearray) -> list[str]:
    """Return the lines of a piece of a log; a line that is a JSON record may hold several.

    Lines end at ``\\n`` and ``\\r`` only; other characters that Unicode calls line ends occur in
    garbled text.
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
        text = _BAR.sub("", text)
    if ".py:" in text[-100:]:
        text = text[:-200] + _PLACE_AT_END.sub("", text[-200:])
    return text


def _unpacked(line: str) -> list[str]:
    """Return the lines that a container runtime or a JSON formatter wrapped up."""
    if not line.startswith("{"):
        return [line]
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return [line]
    found = (record.get(key) for key in _JSON_TEXT)
    text = next((value for value in found if isinstance(value, str)), None)
    if text is None:
        return [line]
    text = _ESCAPES.sub(b"", text.encode("utf-8", "replace")).decode("utf-8", "replace")
    rank = next((record[key] for key in _JSON_RANK if type(record.get(key)) is int), None)
    prefix = "" if rank is None else f"[rank{rank}]: "
    return [prefix + line for line in _LINE_END.split(text)]
