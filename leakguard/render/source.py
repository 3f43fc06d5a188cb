"""The source line that makes what leaks, with the lines around it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from leakguard.model.code_line import code_line
from leakguard.render.text import clean

_AROUND = 3
_LARGEST_FILE = 2_000_000  # bytes; modules written by hand are shorter


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One line of a file; ``made`` is the line that makes what leaks."""

    number: int
    text: str
    made: bool


def place_of(site: str | None) -> tuple[str, int] | None:
    """Return the file and line of ``rollout.py:88 in play``; None if ``site`` has none."""
    found = code_line(clean(site or ""))
    return None if found is None else (found.file, found.line)


def source_lines(site: str | None, folder: Path | None) -> tuple[SourceLine, ...]:
    """Return the line with three lines on each side; empty unless it is Python below ``folder``.

    A run may come from a stranger, and a report may be passed on, so no other file is quoted.
    """
    place = place_of(site)
    if place is None or folder is None:
        return ()
    name, number = place
    path = (folder / name).resolve()
    try:
        inside = path.is_relative_to(folder.resolve()) and path.suffix == ".py"
        if not inside or path.stat().st_size > _LARGEST_FILE:
            return ()
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return ()
    if not 1 <= number <= len(lines):
        return ()
    first = max(number - _AROUND, 1)
    shown = lines[first - 1 : number + _AROUND]
    return tuple(
        SourceLine(first + place, clean(text.expandtabs(4)), first + place == number)
        for place, text in enumerate(shown)
    )
