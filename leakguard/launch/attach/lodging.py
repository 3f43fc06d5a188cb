"""A folder in the file system of the target: a copy of leakguard, the script, and the socket.

The folder is made where the target sees it, also if the target runs in a container. Only the
target's user may enter the folder. This process follows no link in it, because the target's user
could place a link there.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import time
from pathlib import Path

from leakguard.errors import UsageError
from leakguard.launch.attach.running_process import RunningProcess

_PLACES = ("tmp", "dev/shm", "var/tmp")
_PACKAGE = Path(__file__).parents[2]
# Folders of leakguard that are not copied into the target's file system, because no copy of the
# target imports from them. Compiled files are copied: a copy that has to compile takes a second,
# and several while memory is traced.
_LEFT_OUT = ("manual", "templates", "cli", "integrations", "analysis")
_NAMED = re.compile(r"leakguard-attach-(\d+)-[0-9a-f]{16}")
# If the process that made a folder was killed, a later attachment removes the folder once this many
# seconds have passed since the folder was last changed. Chosen, well above the 10 seconds after
# which a thread that got no order removes its folder itself.
_LEFT_ALONE = 60.0


class Lodging:
    """The folder, until ``close`` removes it; ``path`` is its path as the target sees it."""

    def __init__(self, target: RunningProcess) -> None:
        """Make the folder, with leakguard in it.

        Raises:
            UsageError: the target has no folder for temporary files, or it cannot be written.
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
        if os.geteuid() != self._target.user:
            for folder, _, files in os.walk(inside):
                for name in (".", *files):
                    path = f"{folder}/{name}"
                    os.chown(path, self._target.user, self._target.group, follow_symlinks=False)

    def inside(self, name: str) -> str:
        """Return the path of an entry as this process sees it."""
        return f"/proc/self/fd/{self._folder}/{name}"

    def write(self, name: str, data: bytes) -> None:
        """Write a file for the target to read."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, 0o600, dir_fd=self._folder)
        with open(descriptor, "wb") as file:
            os.fchown(descriptor, self._target.user, self._target.group)
            file.write(data)

    def close(self) -> None:
        """Remove the folder, unless the target has removed it; a second call does nothing."""
        if self._folder < 0:
            return
        with contextlib.suppress(OSError):
            _remove(self._name, self._parent)
        os.close(self._folder)
        os.close(self._parent)
        self._folder = -1


def _place(target: RunningProcess) -> tuple[int, str]:
    """Open a folder for temporary files in the target's root; return its descriptor and name."""
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
    """Open a folder below ``root``; no links, as they lead into this process's file system."""
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
    """Remove the folders of killed processes that the targets never used."""
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
