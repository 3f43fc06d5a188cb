"""One line of a log, freed from what terminals and containers add to it."""

from __future__ import annotations

import json
import re

_ESCAPES = re.compile(
    rb"(?:\x1b|\^\[)\[[0-?]*[ -/]*[@-~]|\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])"
)
_CONTROLS = dict.fromkeys((*range(32), 0x7F, *range(0x80, 0xA0), 0xA0), " ")
# A progress bar ends without a line end, so what is printed next stands on its line.
_BAR = re.compile(r"^.*\d(?:it/s|s/it|B/s)[^\]]*\](?=\S| {3})")
# rich and some formatters put the place of the call at the right margin.
_PLACE_AT_END = re.compile(r"\s{2,}[\w./\\-]+\.py:\d+\s*$")
_JSON_TEXT = ("log", "message", "msg", "event", "text")
_JSON_RANK = ("rank", "local_rank")


def texts(raw: bytes | bytearray) -> list[str]:
    """Return the line as text; a JSON record of a container runtime may hold several."""
    if raw.startswith(b"{"):
        found = _from_json(raw)
        if found is not None:
            return [_tidy(line) for line in re.split("[\r\n]", found)]
    if b"\x1b" in raw or b"^[" in raw:
        raw = _ESCAPES.sub(b"", raw)
    return [_tidy(raw.decode("utf-8", "replace"))]


def _tidy(text: str) -> str:
    if not text.isprintable():
        text = text.translate(_CONTROLS)
    text = text.rstrip()
    if "/s" in text or "s/it" in text:
        text = _BAR.sub("", text)
    return _PLACE_AT_END.sub("", text) if ".py:" in text else text


def _from_json(raw: bytes | bytearray) -> str | None:
    try:
        record = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    found = (record.get(key) for key in _JSON_TEXT) if isinstance(record, dict) else ()
    text = next((value for value in found if isinstance(value, str)), None)
    if text is None:
        return None
    text = _ESCAPES.sub(b"", text.encode("utf-8", "replace")).decode("utf-8", "replace")
    rank = next((record[key] for key in _JSON_RANK if type(record.get(key)) is int), None)
    prefix = "" if rank is None else f"[rank{rank}]: "
    return "\n".join(prefix + line for line in re.split("[\r\n]", text))
