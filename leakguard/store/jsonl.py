"""Runs on disk: written a flushed line at a time, read back whatever the last moment cut off."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from leakguard.errors import UnreadableRun, UsageError
from leakguard.model import Run, RunInfo, Snapshot
from leakguard.store import schema
from leakguard.store.census_delta import whole
from leakguard.store.run_lock import open_run_file

MAGIC = b'{"schema":"leakguard.run/'
_MAX_NOTES = 5


class RunWriter:
    """Appends one run to a file; a file that already holds runs keeps them."""

    def __init__(self, path: Path, info: RunInfo) -> None:
        """Open ``path``, making its folder, and write the header.

        Raises:
            UsageError: the file cannot be opened for writing, or another guard writes to it.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            torn = _ends_torn(path)
            self._file = open_run_file(path)
            self._file.write((b"\n" if torn else b"") + schema.encode_header(info))
        except OSError as error:
            raise UsageError(
                f"cannot write the run to {path}: {error.strerror}; choose another out= path"
            ) from None
        self._count = 0

    def write(self, line: bytes) -> None:
        """Append one encoded snapshot; it is in the kernel's hands when this returns."""
        self._file.write(line)
        self._count += 1

    def close(self, spent: float | None = None) -> None:
        """Write the end line and close the file; the guard has cost ``spent`` seconds in all."""
        if not self._file.closed:
            self._file.write(schema.encode_end(self._count, spent))
            self._file.close()


def read_runs(path: Path) -> list[Run]:
    """Read every run of a JSONL file, in order.

    Lines that cannot be read are skipped and counted in ``Run.notes``; the last line of a killed
    process may be cut.

    Raises:
        UnreadableRun: no line of the file is a snapshot, or the file is of a later version.
    """
    with path.open("rb") as file:
        runs = list(_runs_of(file, path))
    if not any(run.snapshots for run in runs):
        raise UnreadableRun(f"{path} holds no snapshot: the run ended before its first phase did")
    return [replace(run, part=(k, len(runs))) for k, run in enumerate(runs, 1)]


def decode_snapshots(lines: Iterable[bytes]) -> list[Snapshot]:
    """Decode lines that this version encoded itself."""
    decoded = [line.snapshot for line in map(schema.decode, lines) if line.snapshot is not None]
    return whole(decoded)


def _runs_of(lines: Iterable[bytes], path: Path) -> Iterable[Run]:
    info, finished, started = RunInfo(source="jsonl"), False, False
    snapshots: list[Snapshot] = []
    notes: list[str] = []
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
                yield Run(info, tuple(whole(snapshots)), _bounded(notes), finished=finished)
            info, finished, started = replace(line.run, source="jsonl"), False, True
            snapshots, notes = [], []
        elif line.snapshot is not None:
            snapshots.append(line.snapshot)
        elif line.end is not None:
            finished = True
    yield Run(info, tuple(whole(snapshots)), _bounded(notes), finished=finished)


def _check_version(name: str | None, path: Path) -> None:
    if name != schema.SCHEMA:
        raise UnreadableRun(
            f"{path} has the schema {name!r}, this leakguard reads {schema.SCHEMA!r}; upgrade it"
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
