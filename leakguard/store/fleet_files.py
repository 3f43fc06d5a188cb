"""The files of a fleet: run files and Parquet tables below folders and URLs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leakguard.errors import UnreadableRun
from leakguard.model.secrets import without_secrets
from leakguard.store import is_url
from leakguard.store.remote_copy import file_system

_SUFFIXES = (".jsonl", ".parquet")


def files_below(place: Path | str) -> list[str]:
    """Return the run files and tables below a path or URL, sorted by name.

    Raises:
        UnreadableRun: there is no such file, or the URL cannot be reached.
        UsageError: a package that such a URL needs is not installed.
    """
    found = _remote(str(place)) if is_url(place) else _local(Path(place))
    if not found:
        raise UnreadableRun(
            without_secrets(f"{place} holds no *.jsonl file of a guard and no *.parquet table")
        )
    return found


def _local(path: Path) -> list[str]:
    if not path.is_dir():
        if path.exists():
            return [str(path)]
        raise UnreadableRun(f"{path} does not exist")
    return sorted(str(file) for suffix in _SUFFIXES for file in path.rglob(f"*{suffix}"))


def _remote(url: str) -> list[str]:
    system, path = file_system(url)
    try:
        names = system.find(path)
    except Exception as error:  # each file system raises its own exceptions
        raise UnreadableRun(without_secrets(f"{url} cannot be read: {error}")) from error
    return sorted(system.unstrip_protocol(name) for name in names if name.endswith(_SUFFIXES))


@contextmanager
def local_file(name: str) -> Iterator[Path]:
    """Provide a file of the fleet as a local path; a file at a URL is copied temporarily."""
    if not is_url(name):
        yield Path(name)
        return
    system, path = file_system(name)
    with tempfile.TemporaryDirectory(prefix="leakguard-") as folder:
        copy = Path(folder) / path.rpartition("/")[2]
        try:
            system.get_file(path, str(copy))
        except Exception as error:
            raise UnreadableRun(without_secrets(f"{name} cannot be read: {error}")) from error
        yield copy
