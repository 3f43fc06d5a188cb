"""What a test takes from a file of the program: imports of its names, or copies of its lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from posixpath import relpath

from leakguard.reproducing.names import bound, used
from leakguard.reproducing.program_file import ProgramFile, is_start


def head_of(
    file: ProgramFile, needing: Sequence[ast.AST], folder: str,
    copied: Sequence[ast.stmt] | None = None,
) -> tuple[ast.stmt, ...]:  # fmt: skip
    """Return the statements that precede a test.

    Args:
        file: the file of the program.
        needing: the statements of the test.
        folder: the folder of the test, below the program's folder.
        copied: what is copied if the file runs the program when it is imported; None copies the
            definitions.
    """
    if not file.is_importable:
        lines = [p for p in file.body if file.is_definition(p)] if copied is None else copied
        return tuple(part for part in lines if not is_start(part))
    return tuple(_imports(file, used(needing) - bound(needing), folder))


def _imports(file: ProgramFile, needed: set[str], folder: str) -> Iterator[ast.stmt]:
    """Yield imports: those of the file itself where it only imports a name, too."""
    for part in file.body:
        if isinstance(part, ast.Import | ast.ImportFrom) and bound([part]) & needed:
            yield part
            needed = needed - bound([part])
    own = sorted(needed & file.bound)
    if not own:
        return
    place = relpath(file.searched, folder or ".")
    if place != ".":
        yield from ast.parse(
            "import sys\nfrom pathlib import Path\n"
            f"sys.path.insert(0, str(Path(__file__).parent / {place!r}))"
        ).body
    yield from ast.parse(f"from {file.module} import {', '.join(own)}").body
