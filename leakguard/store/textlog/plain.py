"""The undamaged snapshot block without a prefix, taken whole: most blocks of most logs are such."""

from __future__ import annotations

import re
from typing import NamedTuple

_BLOCK = re.compile(
    rb"={20,}\n([^=\n\r]*)MEMORY SNAPSHOT:([^\n\r]*)\n={20,}\n"
    rb"((?:[^=\n\r][^\n\r]*\n)+)={20,}(?:\n|\Z)"
)
# A line with one of these in it needs the care of reading line by line.
_ODD = ("MEMORY ", "=" * 20, "/s", ".py:")
_LONGEST = 2000


class Plain(NamedTuple):
    """The text before the heading's words, the label, the rows, and where the block ends."""

    lead: str
    label: str
    rows: list[str]
    end: int


def plain_block(piece: bytearray) -> Plain | None:
    """Return the block that a piece of a log begins with; None unless it is as it was written."""
    match = _BLOCK.match(piece)
    if match is None:
        return None
    lead, label, body = (match[n].decode("utf-8", "replace") for n in (1, 2, 3))
    rows = body.split("\n")[:-1]
    text = "".join((lead, label, *rows))
    if not text.isprintable() or len(text) > _LONGEST or any(odd in text for odd in _ODD):
        return None
    return Plain(lead, label.strip(), [row.rstrip() for row in rows], match.end())
