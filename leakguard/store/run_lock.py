"""Gives a run file to one process: only its user can read it, and it is locked while open."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import mmap
import os
import stat
import weakref
from io import FileIO
from pathlib import Path

from leakguard.errors import UsageError
from leakguard.store import schema

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

_HEADER = b'{"schema":"leakguard.run/'
_LONGEST_HEADER = 65_536
_COPIED = 1_000_000
_TRIES = 5  # a file system may report another inode number at every call
#: Opens a file that only its user may read. It is C code, so that no interrupt can come between
#: opening the descriptor and creating the file object.
for_user_alone = functools.partial(os.open, mode=0o600)
_open_files: weakref.WeakSet[FileIO] = weakref.WeakSet()


def open_run_file(path: Path) -> FileIO:
    """Open ``path`` for appending, as the only process that does.

    Raises:
        UsageError: another guard writes to it.
        OSError: the file cannot be opened.
    """
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISFIFO(path.stat().st_mode):
            raise OSError(errno.EINVAL, "it is a pipe, and a run is a file")
    file = _opened(path, "ab+")
    for _ in range(_TRIES):
        if lies_at(file, path):
            break
        file.close()  # its owner replaced it between opening and locking
        file = _opened(path, "ab+")
    return file


def new_beside(file: FileIO, path: Path, begins: int, text: bytes) -> tuple[FileIO, Path]:
    """Write the first ``begins`` bytes of a run file and then ``text`` to a new file next to it.

    Returns:
        The new file, open and locked as ``file`` is, and its path.

    Raises:
        OSError: the new file cannot be written; it is removed.
    """
    beside = path.with_name(f".{path.name}.thinned")
    beside.unlink(missing_ok=True)  # left by a process that was killed
    new = _opened(beside, "xb+")  # follows no link, and overwrites nothing
    try:
        os.fchmod(new.fileno(), stat.S_IMODE(os.fstat(file.fileno()).st_mode))
        _copy(file, new, begins)
        write_all(new, text)
    except BaseException:
        new.close()
        beside.unlink(missing_ok=True)
        raise
    return new, beside


def lies_at(file: FileIO, path: Path) -> bool:
    """Return whether this open file is the file at ``path``."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def identity(file: FileIO) -> tuple[int, int] | None:
    """Return device and inode of an open file; None if the program has closed its descriptor."""
    try:
        status = os.fstat(file.fileno())
    except OSError:
        return None
    return status.st_dev, status.st_ino


def abandon(file: FileIO) -> None:
    """Never close a descriptor that the program closed: it may belong to another file by now."""
    _open_files.discard(file)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(file))


def write_all(file: FileIO, text: bytes) -> None:
    """Write all of ``text``: on a nearly full disk, one write may take only a part of it."""
    rest = memoryview(text)
    while rest:
        rest = rest[file.write(rest) :]


def _opened(path: Path, mode: str) -> FileIO:
    file = FileIO(path, mode, opener=for_user_alone)
    try:
        if fcntl is not None:
            _lock(file, path)
    except BaseException:
        file.close()
        raise
    _open_files.add(file)
    return file


def _copy(file: FileIO, new: FileIO, size: int) -> None:
    at = 0
    while at < size:
        part = os.pread(file.fileno(), min(_COPIED, size - at), at)
        if not part:
            return
        write_all(new, part)
        at += len(part)


def _lock(file: FileIO, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageError(
            f"{path} is being written by {_writer_of(file)}; give each process an out= of its own"
        ) from None
    except OSError:  # a file system without locks
        return


def is_locked(path: Path) -> bool:
    """Return whether a process is writing to the file now; False if locks are not supported."""
    with path.open("rb") as file, contextlib.suppress(OSError):
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _writer_of(file: FileIO) -> str:
    """Return which process wrote the last header in the file."""
    try:
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            start = content.rfind(_HEADER)
            line = content[start : start + _LONGEST_HEADER].split(b"\n", 1)[0] + b"\n"
        info = schema.decode(line).run
    except (OSError, ValueError):
        info = None
    if info is None or info.pid is None:
        return "another guard"
    since = f" since {info.started}" if info.started else ""
    return f"process {info.pid}{since}"


def _close_in_child() -> None:
    """Close inherited files in a forked child, which would keep the lock after its parent ends."""
    for file in list(_open_files):
        try:  # noqa: SIM105 - calling less of this package keeps its pages shared with the parent
            file.close()
        except OSError:
            pass


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)
