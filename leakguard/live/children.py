"""The child processes of a guard's process, observed from outside at the end of each generation.

Workers without a guard (of a DataLoader, of a pool) each get a run file in the run directory. It
has their memory in the generations of their parent, and no objects. Without a run directory, their
memory is in the run of their parent.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from os import getpid  # the program may have put a double in its place
from pathlib import Path

from leakguard.capture.outside import Paced, descendants, outside_view, shared_pages
from leakguard.capture.probe import Reading, Unavailable
from leakguard.live.run_directory import Identity
from leakguard.model import RunInfo, Snapshot
from leakguard.store import schema

# Children that are followed at a time. Of a larger pool, only the first ones are followed.
_MOST_CHILDREN = 64


@dataclass(slots=True)
class _Child:
    """One child: its file, and its first snapshot, which is written only with the second one."""

    path: Path
    info: RunInfo
    first: Snapshot
    written: int = 0

    def add(self, snapshot: Snapshot) -> None:
        """Write one more snapshot; before the second one, write the header and the first."""
        lines = b""
        if not self.written:
            lines = schema.encode_header(self.info) + schema.encode_snapshot(self.first)
            self.written = 1
        self._append(lines + schema.encode_snapshot(replace(snapshot, serial=self.written)))
        self.written += 1

    def end(self) -> None:
        """Write the end line: nothing more will come."""
        if self.written:
            self._append(schema.encode_end(self.written))

    def _append(self, lines: bytes) -> None:
        """Append lines; the file is open only meanwhile, because the guard counts open files."""
        with contextlib.suppress(OSError), self.path.open("ab") as file:
            file.write(lines)


@dataclass(slots=True)
class Children:
    """Follows the children of this process; ``folder`` gets a file for each that is seen twice."""

    folder: Path
    parent: RunInfo
    _known: dict[int, _Child] = field(default_factory=dict)
    _views: dict[int, Reading] = field(default_factory=dict)
    _pace: Paced = field(init=False)

    def __post_init__(self) -> None:
        self._pace = Paced(self._read)

    def look(self, end: Snapshot) -> None:
        """Record the memory of all children at the end of a generation of their parent."""
        if not self._pace():
            return
        for pid in [pid for pid in self._known if pid not in self._views]:
            self._known.pop(pid).end()
        for pid, reading in self._views.items():
            seen = Snapshot(0, end.label, "generation", None, end.generation, end.seconds, reading)
            self._add(pid, seen)
        self._views = {}

    def close(self) -> None:
        """End the files of the children that are still followed."""
        for child in self._known.values():
            child.end()
        self._known = {}

    def _read(self) -> Reading:
        """Read the children; return an empty reading if there are none and were none before."""
        for pid in list(descendants(getpid()))[:_MOST_CHILDREN]:
            with contextlib.suppress(OSError):
                self._views[pid] = outside_view(pid)
        return {"children": len(self._views)} if self._views or self._known else {}

    def _add(self, pid: int, seen: Snapshot) -> None:
        known = self._known.get(pid)
        if known is None:
            self._known[pid] = self._new(pid, seen)
        else:
            known.add(seen)

    def _new(self, pid: int, seen: Snapshot) -> _Child:
        told = self.parent
        who = Identity(told.rank, None, None, "child", told.host or "", pid)
        info = replace(told, pid=pid, role="child", observer=told.pid, command=_command(pid))
        return _Child(self.folder / who.file_name, info, seen)


@dataclass(slots=True)
class Offspring:
    """Reads the memory of all processes below this one, as often as its cost allows."""

    _seen: dict[str, int] = field(default_factory=dict)
    _pace: Paced = field(init=False)

    def __post_init__(self) -> None:
        self._pace = Paced(self._read)

    def __call__(self) -> Mapping[str, int]:
        """Return each process's private bytes; empty if they were not read this time."""
        self._seen = {}
        self._pace()
        return self._seen

    def _read(self) -> Reading:
        for pid in islice(descendants(getpid()), _MOST_CHILDREN):
            with contextlib.suppress(Unavailable):
                self._seen[_process_name(pid)] = int(shared_pages(pid)["private"])
        return {}


def _process_name(pid: int) -> str:
    """Return the pid of a process and the first two words of its command."""
    words = [word.rpartition("/")[2] for word in _words(pid)[:2]]
    return f"process {pid} ({' '.join(words)})" if words else f"process {pid}"


def _command(pid: int) -> str | None:
    return shlex.join(_words(pid)) or None


def _words(pid: int) -> list[str]:
    """Return the words of a process's command line; empty if it has ended."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        return []
    return [word.decode("utf-8", "replace") for word in words]
