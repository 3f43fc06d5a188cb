"""Files that other runs may write at the same time."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """Yield where to write: `path` appears complete or not at all, whoever else writes it."""
    with tempfile.TemporaryDirectory(prefix=".", dir=path.parent) as folder:
        draft = Path(folder) / path.name
        yield draft
        draft.replace(path)
