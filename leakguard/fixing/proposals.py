"""The changes that are proposed for a finding, or why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from leakguard.errors import UsageError, install
from leakguard.fixing.clue import Clue
from leakguard.fixing.edit import Edit
from leakguard.fixing.files import likely_files

# Kinds that no statement of the program holds, so that no template can fit.
_NOT_HELD = {
    "native": "C code keeps the memory, and no statement of the program does",
    "fragmentation": "the allocator keeps free memory, and no statement of the program holds it",
    "peak": "a peak is no growth",
    "memory": "no type and no holder of the growth is known",
    "copy-on-write": "pages are copied because of a fork, and no statement holds them",
}


def proposals(root: Path, clue: Clue, words: Sequence[str]) -> list[Edit]:
    """Return the proposed changes of the files below ``root``, the most plausible first.

    Raises:
        UsageError: LibCST is not installed.
    """
    try:
        from libcst import ParserSyntaxError

        from leakguard.fixing.source import Source
        from leakguard.fixing.templates import edits
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "libcst":
            raise
        raise UsageError(
            f"proposing a change needs LibCST: {install('fix')}; --patch FILE does not"
        ) from None
    sources = []
    for path, text in likely_files(root, clue, words):
        try:
            sources.append(Source(path, text))
        except ParserSyntaxError:
            continue
    return list(edits(clue, sources))


def why_none(clue: Clue, library: str | None) -> str:
    """Return why no template fits a finding."""
    if library:
        return f"{library} keeps it, which is no source of the program"
    if clue.kind in _NOT_HELD and not clue.names:
        return _NOT_HELD[clue.kind]
    if not clue.names and not clue.lines:
        return "neither a holder nor a line of the program is known"
    where = clue.expression or clue.name or f"line {clue.lines[0].number} of {clue.lines[0].file}"
    return f"no statement was found that adds to {where} in a way that a template knows"
