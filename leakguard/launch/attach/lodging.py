"""A folder in the file system of the target, for what it is to run and for what the two say.

It is made where the target itself sees it, also in a container, and only its user may enter it.
What this process reads and writes there follows no link: once the folder is the target's user's, so
is what lies in it.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
import time
from pathlib import Path

from leakguard.errors import UsageError
from leakguard.launch.attach.running_process import RunningProcess

_PLACES = ("tmp", "dev/shm", "var/tmp")
_PACKAGE = Path(__file__).parents[2]
# What no copy of the target imports.
_LEFT_OUT = ("manual", "templates", "cli", "integrations", "analysis", "__pycache__")
_PIPES = ("ask", "answer")
_LONGEST_ANSWER = 256_000_000
_NAMED = re.compile(r"leakguard-attach-(\d+)-[0-9a-f]{16}")
# Seconds after which a folder is swept away whose maker was killed: a thread that was begun for it
# would have done so by then.
_LEFT_ALONE = 60.0


class Lodging:
    """The folder; ``path`` is what the target calls it. To be closed, which takes it away."""

    def __init__(self, target: RunningProcess) -> None:
        """Make it, with leakguard in it and two named pipes.

        Raises:
            UsageError: the target has no folder for temporary files.
        """
        self._target = target
        self._parent, place = _place(target)
        _sweep(self._parent)
        self._name = f"leakguard-attach-{os.getpid()}-{secrets.token_hex(8)}"
        self.path = f"/{place}/{self._name}"
        os.mkdir(self._name, 0o700, dir_fd=self._parent)
        self._folder = os.open(self._name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._parent)
        try:
            self._furnish()
        except OSError as error:
            self.close()
            raise UsageError(f"{self.path} cannot be written: {error.strerror}") from None

    def _furnish(self) -> None:
        ignored = shutil.ignore_patterns(*_LEFT_OUT)
        inside = f"/proc/self/fd/{self._folder}"
        shutil.copytree(_PACKAGE, f"{inside}/leakguard", ignore=ignored)
        for pipe in _PIPES:
            os.mkfifo(pipe, 0o600, dir_fd=self._folder)
        if os.geteuid() != self._target.user:
            for folder, _, files in os.walk(inside):
                for name in (".", *files):
                    path = f"{folder}/{name}"
                    os.chown(path, self._target.user, self._target.group, follow_symlinks=False)

    def open_pipe(self, name: str, how: int) -> int:
        """Open one of the pipes, ``ask`` or ``answer``, without waiting for the other end.

        Raises:
            OSError: nobody is there yet.
        """
        flags = how | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, dir_fd=self._folder)

    def write(self, name: str, data: bytes) -> None:
        """Write a file for the target to read."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, 0o600, dir_fd=self._folder)
        with open(descriptor, "wb") as file:
            os.fchown(descriptor, self._target.user, self._target.group)
            file.write(data)

    def read(self, name: str) -> bytes:
        """Return what the target has written into a file.

        Raises:
            OSError: there is none, or it is none.
        """
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(name, flags, dir_fd=self._folder), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(0, "it is no file")
            return file.read(_LONGEST_ANSWER)

    def close(self) -> None:
        """Take the folder away, unless the target has done so; harmless when it is already."""
        if self._folder < 0:
            return
        with contextlib.suppress(OSError):
            _remove(self._name, self._parent)
        os.close(self._folder)
        os.close(self._parent)
        self._folder = -1


def _place(target: RunningProcess) -> tuple[int, str]:
    """Return a folder for temporary files that the target has, opened, and its name."""
    root = os.open(target.root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for place in _PLACES:
            with contextlib.suppress(OSError):
                folder = _entered(root, place)
                if os.access(f"/proc/self/fd/{folder}", os.W_OK | os.X_OK):
                    return folder, place
                os.close(folder)
    finally:
        os.close(root)
    raise UsageError(
        f"process {target.pid} has no folder to write to in {', '.join(_PLACES)}; mount one there"
    )


def _entered(root: int, place: str) -> int:
    """Open a folder below ``root``; a link on the way would lead into our own file system."""
    folder = os.dup(root)
    for part in place.split("/"):
        outer = folder
        try:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
            folder = os.open(part, flags, dir_fd=outer)
        finally:
            os.close(outer)
    return folder


def _sweep(parent: int) -> None:
    """Take away the folders whose makers were killed before anybody lived in them."""
    for name in os.listdir(parent):
        made = _NAMED.fullmatch(name)
        if made is None or Path(f"/proc/{made[1]}").exists():
            continue
        with contextlib.suppress(OSError):
            told = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if told.st_uid == os.geteuid() and time.time() - told.st_mtime > _LEFT_ALONE:
                _remove(name, parent)


def _remove(name: str, parent: int) -> None:
    inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        _empty(inner)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=parent)


def _empty(folder: int) -> None:
    for entry in os.listdir(folder):
        try:
            os.unlink(entry, dir_fd=folder)
        except (IsADirectoryError, PermissionError):
            _remove(entry, folder)
