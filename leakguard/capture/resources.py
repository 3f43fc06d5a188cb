"""Leaks other than memory: file descriptors, threads and child processes."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO  # imported early: the program may later replace ``open`` and these by mocks
from os import listdir

from leakguard.capture.heap.process_copy import at_work
from leakguard.capture.probe import Reading


def open_files() -> Reading:
    """Count the open file descriptors."""
    if not sys.platform.startswith("linux"):
        import psutil

        return {"open_files": psutil.Process().num_fds()}
    return {"open_files": len(listdir("/proc/self/fd")) - 1}  # noqa: PTH208 - one is listdir's own


def child_processes() -> Reading:
    """Count the live direct children, except the copies of the process that the guard made."""
    if not sys.platform.startswith("linux"):
        import psutil

        return {"children": len(psutil.Process().children())}
    children = 0
    for thread in listdir("/proc/self/task"):  # noqa: PTH208 - Path objects cost 5 times as much
        with (
            contextlib.suppress(FileNotFoundError),  # the thread ended meanwhile
            FileIO(f"/proc/self/task/{thread}/children") as file,
        ):
            children += sum(int(child) not in at_work for child in file.read().split())
    return {"children": children}


@dataclass(frozen=True, slots=True)
class Handles:
    """The threads and open files of the process, by name."""

    threads: Counter[str]
    files: Counter[str]

    @classmethod
    def now(cls) -> Handles:
        """Return the current threads and open files; on other systems than Linux, no files."""
        return cls(Counter(thread.name for thread in threading.enumerate()), Counter(_paths()))

    def new(self) -> list[str]:
        """Return a line for the threads and a line for the files that are new since this list."""
        now = Handles.now()
        return [
            *_listed("Threads that are new", now.threads - self.threads),
            *_listed("Open files that are new", now.files - self.files),
        ]


def _paths() -> Iterator[str]:
    folder = "/proc/self/fd"
    if not sys.platform.startswith("linux"):
        return
    for number in listdir(folder):  # noqa: PTH208 - Path objects cost 5 times as much
        with contextlib.suppress(OSError):  # The descriptor of listdir itself is closed by now.
            yield os.readlink(f"{folder}/{number}")  # noqa: PTH115


def _listed(what: str, more: Counter[str]) -> Iterator[str]:
    if more:
        named = (f"{name} ({count})" if count > 1 else name for name, count in more.most_common(5))
        rest = len(more) - 5
        yield f"{what}: {', '.join(named)}{f' and {rest} more' if rest > 0 else ''}"
