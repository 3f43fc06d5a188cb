"""The files of a fleet: run files and Parquet tables below folders and URLs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
def local_files(names: Sequence[str]) -> Iterator[list[Path | UnreadableRun]]:
    """Provide files of the fleet as local paths, each in its place; files at URLs are copied.

    The copies are temporary, and made at the same time: a store answers many requests as fast as
    one. In the place of a file that cannot be read is the reason.
    """
    far = [name for name in names if is_url(name)]
    if not far:
        yield [Path(name) for name in names]
        return
    with tempfile.TemporaryDirectory(prefix="leakguard-") as folder:
        copies = _copied(far, Path(folder))
        yield [copies[name] if is_url(name) else Path(name) for name in names]


def _copied(names: Sequence[str], folder: Path) -> dict[str, Path | UnreadableRun]:
    systems: dict[str, Any] = {}
    places: dict[str, tuple[str, Path]] = {}
    for name in names:
        system, path = file_system(name)
        systems[name] = system
        places[name] = path, folder / str(len(places)) / path.rpartition("/")[2]
        places[name][1].parent.mkdir()
    copies: dict[str, Path | UnreadableRun] = {}
    for system in {id(system): system for system in systems.values()}.values():
        copies.update(_got(system, {n: places[n] for n in names if systems[n] is system}))
    return copies


def _got(system: Any, places: Mapping[str, tuple[str, Path]]) -> dict[str, Path | UnreadableRun]:
    """Copy the files of one file system; if that fails, one by one, to know for which."""
    paths, copies = [path for path, _ in places.values()], [copy for _, copy in places.values()]
    try:
        system.get(paths, [str(copy) for copy in copies])
    except Exception as error:  # each file system raises its own exceptions
        if len(places) == 1:
            [name] = places
            return {name: UnreadableRun(without_secrets(f"{name} cannot be read: {error}"))}
        alone = (_got(system, {name: place}) for name, place in places.items())
        return {name: copy for got in alone for name, copy in got.items()}
    return dict(zip(places, copies, strict=True))
