"""Sizes that follow words on a line: ``rss=3.42GiB``, ``"rss_mb": 920.4``."""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple

from leakguard.store.spellings import (
    BARE,
    BY_GROUP,
    NEVER,
    SPELLED,
    UNSIGNED,
    WEAK,
    WEAKER,
    Spelling,
)
from leakguard.store.textlog.number import parse_bytes, parse_number, resolution

_MOST_SIZES = 16  # on one line: each match costs more, the longer the line
_FOLLOWING = 40  # characters that are examined after a number
# How a number may continue at the point where its line was cut.
_TORN = re.compile(r"[.,_]?\d{0,2}")


class SpelledSize(NamedTuple):
    """A size from a line: its metric, its bytes, and the rank of its words (0: most specific).

    ``step`` is the bytes in one unit of the last printed digit; ``limit`` is the available maximum.
    """

    match: re.Match[str]
    metric: str
    rank: int
    bytes: int
    step: int
    limit: int | None


def spelled_sizes(line: str, whole: bool, begin: int = 0) -> list[SpelledSize]:
    """Return the sizes on a line from ``begin`` on; on a line that was cut, only certain ones."""
    matches = islice(SPELLED.finditer(line, max(0, begin)), _MOST_SIZES)
    found = [_size_of(match, line, whole) for match in matches]
    return [size for size in found if size is not None]


def _size_of(match: re.Match[str], line: str, whole: bool) -> SpelledSize | None:
    spelling, of = _spelling(match), (match["of"] or "").lower()
    weak, rank = of in WEAK, spelling.rank + (0 if match["sign"] else UNSIGNED)
    if of in NEVER or (weak and rank) or (spelling.after and of not in spelling.after):
        return None
    text = _with_unit(match, "used", line, whole)
    if text is not None and spelling.kernel:
        text = text.replace("kB", "KiB")
    size = None if text is None else parse_bytes(text)
    if text is None or size is None:
        return None
    limit = _with_unit(match, "limit", line, whole)
    return SpelledSize(
        match,
        spelling.metric,
        rank + (WEAKER if weak else 0),
        size,
        resolution(text),
        None if limit is None else parse_bytes(limit),
    )


def _spelling(match: re.Match[str]) -> Spelling:
    return next(spelling for group, spelling in BY_GROUP.items() if match[group] is not None)


def _with_unit(match: re.Match[str], group: str, line: str, whole: bool) -> str | None:
    """Return a number with its unit, which may be among its words; None if it is not certain."""
    text = match[group]
    if text is None:
        return None
    rest = line[match.end(group) : match.end(group) + _FOLLOWING]
    sure = whole or _TORN.fullmatch(rest) is None
    if not text[-1].isdigit():
        return text if sure or text[-1] in "bB" else None
    unit = match["unit"]
    is_bare = match["sign"] and (whole or rest.strip()) and (parse_number(text) or 0) >= BARE
    if unit is None and is_bare:
        unit = "B"
    return f"{text} {unit}" if sure and unit else None
