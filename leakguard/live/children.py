"""The child processes of a guard's process, seen from outside at the end of each generation.

Workers that nobody prepared (of a DataLoader, of a pool) get a run file each in the run directory:
memory in the generations of their parent, and no objects.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path

from leakguard.capture.outside import Paced, descendants, outside_view
from leakguard.capture.probe import Reading
from leakguard.live.run_directory import Identity
from leakguard.model import RunInfo, Snapshot
from leakguard.store import schema

_MOST_CHILDREN = (
    64  # children that are followed at a time; a larger pool is told by the first of it
)


@dataclass(slots=True)
class _Child:
    """One child: its file, and its first snapshot until a second one makes the file worth it."""

    path: Path
    info: RunInfo
    first: Snapshot
    written: int = 0

    def add(self, snapshot: Snapshot) -> None:
        """Write one more snapshot, and with the second one what comes before it."""
        lines = b""
        if not self.written:
            lines = schema.encode_header(self.info) + schema.encode_snapshot(self.first)
            self.written = 1
        self._append(lines + schema.encode_snapshot(replace(snapshot, serial=self.written)))
        self.written += 1

    def end(self) -> None:
        """Say that nothing more will come."""
        if self.written:
            self._append(schema.encode_end(self.written))

    def _append(self, lines: bytes) -> None:
        """Open the file for this moment only: the guard counts the files that are open."""
        with contextlib.suppress(OSError), self.path.open("ab") as file:
            file.write(lines)


@dataclass(slots=True)
class Children:
    """Follows the children of this process; ``folder`` gets a file for each that stays."""

    folder: Path
    parent: RunInfo
    _known: dict[int, _Child] = field(default_factory=dict)
    _views: dict[int, Reading] = field(default_factory=dict)
    _pace: Paced = field(init=False)

    def __post_init__(self) -> None:
        self._pace = Paced(self._read)

    def look(self, end: Snapshot) -> None:
        """Take the memory of all children at the end of a generation of their parent."""
        if not self._pace():
            return
        for pid in [pid for pid in self._known if pid not in self._views]:
            self._known.pop(pid).end()
        for pid, reading in self._views.items():
            seen = Snapshot(0, end.label, "generation", None, end.generation, end.seconds, reading)
            self._add(pid, seen)
        self._views = {}

    def close(self) -> None:
        """End the files of the children that are there."""
        for child in self._known.values():
            child.end()
        self._known = {}

    def _read(self) -> Reading:
        """Read the children; what is returned is empty where there are none, nor were any."""
        for pid in list(descendants(os.getpid()))[:_MOST_CHILDREN]:
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


def _command(pid: int) -> str | None:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        return None
    return shlex.join(word.decode("utf-8", "replace") for word in words)
