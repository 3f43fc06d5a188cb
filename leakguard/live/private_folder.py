"""The folder with the sockets of a user's processes; other users cannot enter it."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path


def private_folder(user: int | None = None) -> Path:
    """Return the folder of a user, by default of this process's user; it may not exist."""
    return Path(tempfile.gettempdir()) / f"leakguard-{os.getuid() if user is None else user}"


def check_private(folder: Path, user: int) -> None:
    """Raise ``PermissionError`` unless ``folder`` is a real folder that only ``user`` can enter.

    Raises:
        FileNotFoundError: there is no such folder.
    """
    told = folder.lstat()
    if not stat.S_ISDIR(told.st_mode) or told.st_uid != user or told.st_mode & 0o077:
        raise PermissionError(0, f"{folder} is not a private folder of the user")


def owner_of(pid: int) -> int:
    """Return the user of a process.

    Raises:
        ProcessLookupError: there is no such process.
    """
    import psutil

    try:
        return int(psutil.Process(pid).uids().real)
    except psutil.Error:
        raise ProcessLookupError(0, "no such process") from None
