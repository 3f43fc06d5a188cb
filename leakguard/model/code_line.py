"""A line of code as reports write it: ``trainer.py:152 in evaluate``."""

from __future__ import annotations

import re
from typing import NamedTuple

_WRITTEN = re.compile(r"(?P<file>.+?):(?P<line>\d+)(?: in (?P<function>.+))?")


class CodeLine(NamedTuple):
    """A file, a line and its function; None at the top level, or if the function is unknown."""

    file: str
    line: int
    function: str | None = None


def written(place: str, function: str | None) -> str:
    """Return the text of a line; ``place`` is ``trainer.py:152``."""
    return f"{place} in {function}" if function else place


def code_line(text: str | None) -> CodeLine | None:
    """Return the line that a text is; None if it is none, as for a cell of a notebook."""
    found = _WRITTEN.fullmatch(text or "")
    return None if found is None else CodeLine(found["file"], int(found["line"]), found["function"])
