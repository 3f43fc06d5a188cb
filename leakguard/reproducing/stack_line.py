"""The lines of the program on the call stack of a finding."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from leakguard.fixing.files import is_same_file
from leakguard.model.code_line import code_line
from leakguard.model.finding import Finding
from leakguard.reproducing.names import Function, covers
from leakguard.reproducing.program_file import ProgramFile


@dataclass(frozen=True, slots=True)
class StackLine:
    """One line: the path of its file, its number and its function (None at the top level)."""

    path: str
    line: int
    function: str | None


def stack_lines(finding: Finding, files: Mapping[str, ProgramFile]) -> list[StackLine]:
    """Return the lines of the program that lead to a finding, the innermost first."""
    frames = finding.created_stack or tuple(filter(None, (finding.created_at,)))
    return list(_own(frames, files))


def _own(frames: Sequence[str], files: Mapping[str, ProgramFile]) -> Iterator[StackLine]:
    for text in frames:
        found = code_line(text)
        if found is None:
            continue
        name = (found.function or "").rpartition(".")[2] or None
        for path, file in files.items():
            if is_same_file(path, found.file) and _is_in(file, found.line, name):
                yield StackLine(path, found.line, name)
                break


def _is_in(file: ProgramFile, line: int, function: str | None) -> bool:
    """Return whether a line is one of a function, so that a file of a library is not mistaken."""
    around = [
        node
        for part in file.body
        for node in ast.walk(part)
        if isinstance(node, Function) and covers(node, line)
    ]
    if function is None:
        return not around
    return function.startswith("<") or any(node.name == function for node in around)
