"""Runs that are still being written: each reading continues where the previous one ended."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from leakguard.errors import UnreadableRun
from leakguard.model import Run, RunInfo, Snapshot
from leakguard.store import jsonl, schema
from leakguard.store.census_delta import whole
from leakguard.store.run_lock import is_locked
from leakguard.store.textlog.reading import Reading

_READ_AT_ONCE = 1 << 20


class Tail:
    """Yields the complete lines added to a file since the last reading; an incomplete one waits."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0
        self._ready = b""

    def lines(self) -> Iterator[bytes]:
        """Yield the new lines, with their line ends."""
        while piece := self._more():
            yield from piece.splitlines(keepends=True)

    @property
    def shrank(self) -> bool:
        """True if the file is shorter than what was read: it has been replaced or truncated."""
        return self.path.stat().st_size < self._offset

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill ``buffer`` with complete lines, as the log reader needs; 0 if none is new."""
        if not self._ready:
            self._ready = self._more()
        part, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    def _more(self) -> bytes:
        """Read up to the last line end; at most 1 MiB, or more if one line is longer than that."""
        with self.path.open("rb") as file:
            file.seek(self._offset)
            piece = file.read(_READ_AT_ONCE)
            while piece and b"\n" not in piece and (more := file.read(_READ_AT_ONCE)):
                piece += more
        piece = piece[: piece.rfind(b"\n") + 1]
        self._offset += len(piece)
        return piece


class Followed(Protocol):
    """A source that grows: ``poll`` reads what is new and returns whether there was anything."""

    def poll(self) -> bool:
        """Read what is new.

        Raises:
            OSError: the file cannot be read.
        """

    def runs(self) -> list[Run]:
        """Return the runs read so far; empty if nothing has been written yet."""

    @property
    def is_over(self) -> bool:
        """True if nothing more will come."""


@dataclass(slots=True)
class FollowedRun:
    """The last run of a ``.jsonl`` file."""

    path: Path
    _tail: Tail = field(init=False)
    _info: RunInfo | None = None
    _snapshots: list[Snapshot] = field(default_factory=list)
    _finished: bool = False
    _skipped: int = 0

    def __post_init__(self) -> None:
        self._tail = Tail(self.path)

    def poll(self) -> bool:
        """Read what is new; a run that begins replaces the run before it."""
        if self._tail.shrank:
            self.__post_init__()
            self._begin(None)
        changed = False
        for line in self._tail.lines():
            self._take(line)
            changed = True
        return changed

    def runs(self) -> list[Run]:
        """Return the run that is being written, once it has a snapshot."""
        if self._info is None or not self._snapshots:
            return []
        notes = (f"{self._skipped} lines were skipped",) if self._skipped else ()
        info = replace(self._info, source="jsonl")
        return [Run(info, tuple(whole(self._snapshots)), notes, finished=self._finished)]

    @property
    def is_over(self) -> bool:
        """True if the run has an end line, or no process has the file open for writing."""
        return self._finished or not is_locked(self.path)

    def _take(self, raw: bytes) -> None:
        try:
            line = schema.decode(raw)
        except ValueError:
            self._skipped += 1
            return
        if line.run is not None:
            self._begin(line.run)
        elif line.snapshot is not None:
            self._snapshots.append(line.snapshot)
        elif line.end is not None:
            self._finished = True

    def _begin(self, info: RunInfo | None) -> None:
        self._info, self._snapshots, self._finished, self._skipped = info, [], False, 0


class FollowedLog:
    """The runs of a text log, to which more lines may be added at any time."""

    def __init__(self, path: Path) -> None:
        """Start at the beginning of the log."""
        self._path = path
        self._begin(brackets=False)

    def poll(self) -> bool:
        """Read what is new; if no word in the log names a round, read it again for ``[3/25]``."""
        if self._tail.shrank:
            self._begin(brackets=False)
        changed = self._reading.read_on()
        if changed and not self._brackets and not self._reading.names_rounds:
            self._begin(brackets=True)
            self._reading.read_on()
        return changed

    def runs(self) -> list[Run]:
        """Return the runs so far; the runs of a launcher's processes follow one another."""
        try:
            # ``runs`` changes what was read so far, but reading will go on, so it gets a copy.
            return copy.deepcopy(self._reading).runs()
        except UnreadableRun:
            return []

    @property
    def is_over(self) -> bool:
        """Always False: a log does not record its own end."""
        return False

    def _begin(self, *, brackets: bool) -> None:
        self._brackets = brackets
        self._tail = Tail(self._path)
        self._reading = Reading.following(self._path, self._tail, brackets)


class FollowedFolder:
    """The files of a run directory, each with its last run; new files are added as they appear."""

    def __init__(self, folder: Path) -> None:
        """Start with the files that exist."""
        self._folder = folder
        self._files: dict[Path, FollowedRun] = {}

    def poll(self) -> bool:
        """Read what is new in all files."""
        for path in sorted(self._folder.glob("*.jsonl")):
            self._files.setdefault(path, FollowedRun(path))
        return sum(file.poll() for file in self._files.values()) > 0

    def runs(self) -> list[Run]:
        """Return the last run of each file."""
        return [run for file in self._files.values() for run in file.runs()]

    def files(self) -> list[tuple[Path, list[Run]]]:
        """Return the last run of each file with its path, as a job needs them."""
        return [(path, file.runs()) for path, file in self._files.items()]

    @property
    def is_over(self) -> bool:
        """True if every file is over."""
        return all(file.is_over for file in self._files.values()) and bool(self._files)


def followed(path: Path) -> Followed:
    """Return an object that follows a path: a folder, a run file, or any text log.

    Raises:
        OSError: the path cannot be read.
    """
    if path.is_dir():
        return FollowedFolder(path)
    with path.open("rb") as file:
        start = file.read(jsonl.HEADER_START)
    return FollowedRun(path) if jsonl.is_run(start) else FollowedLog(path)
