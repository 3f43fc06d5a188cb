"""Runs on disk: written one flushed line at a time, and readable although the last line is cut."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from io import FileIO
from pathlib import Path

from leakguard.errors import UnreadableRun, UsageError
from leakguard.model import Run, RunInfo, Snapshot
from leakguard.model.brink import Failure
from leakguard.store import schema
from leakguard.store.census_delta import whole
from leakguard.store.run_lock import (
    abandon,
    identity,
    is_locked,
    lies_at,
    new_beside,
    open_run_file,
    write_all,
)

#: So many bytes of a file's start are enough for `is_run`.
HEADER_START = 64
# Whoever writes a run file anew with another tool may put spaces between its parts.
_MAGIC = re.compile(rb'\s*\{\s*"schema"\s*:\s*"leakguard\.run/')
_MAX_NOTES = 5


def is_run(start: bytes) -> bool:
    """Return whether a file that begins with these bytes holds runs of leakguard."""
    return _MAGIC.match(start) is not None


class RunWriter:
    """Appends one run to a file; runs that the file already holds are kept.

    ``is_full`` is true when the run is larger than ``most_bytes``; it should then be written
    ``anew``.
    """

    def __init__(self, path: Path, info: RunInfo, most_bytes: int | None = None) -> None:
        """Open ``path``, create its folder, and write the header.

        Raises:
            UsageError: the file cannot be opened for writing, or another guard writes to it.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            torn = _ends_torn(path)
            self._file = open_run_file(path)
            self._begins = self._file.seek(0, 2)
            self._header = (b"\n" if torn else b"") + schema.encode_header(info)
            write_all(self._file, self._header)
        except OSError as error:
            raise UsageError(
                f"cannot write the run to {path}: {error.strerror}; choose another out= path"
            ) from None
        self._identity = identity(self._file)
        self._path = path.resolve()  # the target of a link is replaced, not the link
        self._count = 0
        self._size = len(self._header)
        self._most_bytes = most_bytes if path.is_file() else None

    @property
    def is_full(self) -> bool:
        """True once the run is larger than ``most_bytes``."""
        return self._most_bytes is not None and self._size > self._most_bytes

    def anew(self, lines: Iterable[bytes], stride: int) -> None:
        """Replace this run's text by ``lines``, which keep one generation in ``stride``.

        At any moment, a reader finds either the old file or the new one, also if the process is
        killed.

        Raises:
            OSError: there is no room for a second file. The run continues in the first file, whose
                bound is then doubled.
        """
        text = self._header + schema.encode_thinned(stride) + b"".join(lines)
        try:
            self._keep_open()
            self._replace(*new_beside(self._file, self._path, self._begins, text))
            self._size = len(text)
        finally:  # a file that cannot be thinned any further is not tried again at each line
            self._most_bytes = max(self._most_bytes or 0, 2 * self._size)

    def _replace(self, new: FileIO, beside: Path) -> None:
        """Continue in the new file once it has replaced the old one, also if an interrupt comes."""
        old = self._file
        try:
            self._file = new
            beside.replace(self._path)
        finally:
            self._file, other = (new, old) if lies_at(new, self._path) else (old, new)
            self._identity = identity(self._file)
            other.close()
            beside.unlink(missing_ok=True)

    def write(self, line: bytes) -> None:
        """Append one encoded snapshot; when this returns, the kernel has it.

        Raises:
            OSError: the snapshot cannot be written, or the file was deleted and nobody would find
                it.
        """
        self._keep_open()
        if not os.fstat(self._file.fileno()).st_nlink:
            raise FileNotFoundError(errno.ENOENT, "the file was deleted", str(self._path))
        write_all(self._file, line)
        self._size += len(line)
        self._count += 1

    def sync(self) -> None:
        """Wait until the disk has all lines, so that they outlast the machine, too."""
        self._keep_open()
        os.fsync(self._file.fileno())

    def _keep_open(self) -> None:
        """Reopen the file if the program closed its descriptor, as a daemon closes all of them."""
        if identity(self._file) != self._identity:
            abandon(self._file)
            self._file = open_run_file(self._path)
            self._identity = identity(self._file)

    def close(self, spent: float | None = None) -> None:
        """Write the end line and close the file; the guard has cost ``spent`` seconds in all."""
        if not self._file.closed:
            self._keep_open()
            self._file.write(schema.encode_end(self._count, spent))
            self._file.close()


def read_runs(path: Path) -> list[Run]:
    """Read every run of a JSONL file, in order.

    Lines that cannot be read are skipped and counted in ``Run.notes``: the last line of a killed
    process may be cut.

    Raises:
        UnreadableRun: no line of the file is a snapshot, or a later version wrote the file.
    """
    with path.open("rb") as file:
        runs = list(_runs_of(file, path))
    if not any(run.snapshots for run in runs):
        raise UnreadableRun(f"{path} holds no snapshot: the run ended before its first phase did")
    # A later run in the file began after an earlier one was over. Whether the last one is over is
    # known by the lock of the process that writes.
    written = not runs[-1].finished and is_locked(path)
    return [
        replace(run, part=(k, len(runs)), is_over=k < len(runs) or not written)
        for k, run in enumerate(runs, 1)
    ]


def decode_snapshots(lines: Iterable[bytes]) -> list[Snapshot]:
    """Decode lines that this version encoded."""
    decoded = [line.snapshot for line in map(schema.decode, lines) if line.snapshot is not None]
    return whole(decoded)


def _runs_of(lines: Iterable[bytes], path: Path) -> Iterable[Run]:
    info, finished, started = RunInfo(source="jsonl"), False, False
    snapshots: list[Snapshot] = []
    notes: list[str] = []
    failure: Failure | None = None
    for number, raw in enumerate(lines, 1):
        if raw.isspace():
            continue
        try:
            line = schema.decode(raw)
        except ValueError as error:
            notes.append(_unreadable(number, raw, error))
            continue
        if line.run is not None:
            _check_version(line.schema, path)
            if started:
                yield Run(
                    info, tuple(whole(snapshots)), _bounded(notes), finished=finished,
                    failure=failure,
                )  # fmt: skip
            info, finished, started = replace(line.run, source="jsonl"), False, True
            snapshots, notes, failure = [], [], None
        elif line.snapshot is not None:
            snapshots.append(line.snapshot)
        elif line.end is not None:
            finished = True
        elif line.failure is not None:
            failure = line.failure
        elif line.thinned is not None:
            notes.append(_thinned(line.thinned))
    yield Run(info, tuple(whole(snapshots)), _bounded(notes), finished=finished, failure=failure)


def _check_version(name: str | None, path: Path) -> None:
    if name != schema.SCHEMA:
        raise UnreadableRun(
            f"{path} has the schema {name!r}, this leakguard reads {schema.SCHEMA!r}; upgrade it"
        )


def _thinned(told: Mapping[str, float]) -> str:
    return (
        f"of the early generations one in {told.get('stride', 0):.0f} was kept, with all looks and "
        "extremes: the run reached its max_file_size"
    )


def _unreadable(number: int, raw: bytes, error: ValueError) -> str:
    if not raw.endswith(b"\n"):
        return f"line {number} is cut off: the process ended while it was written"
    return f"line {number} was skipped: {error}"


def _bounded(notes: list[str]) -> tuple[str, ...]:
    if len(notes) <= _MAX_NOTES:
        return tuple(notes)
    return (*notes[:_MAX_NOTES], f"{len(notes) - _MAX_NOTES} more lines were skipped")


def _ends_torn(path: Path) -> bool:
    if not path.exists() or path.stat().st_size == 0:
        return False
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) != b"\n"
