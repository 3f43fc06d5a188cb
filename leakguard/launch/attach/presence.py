"""Which process is attached to a target: a small file in the user's private folder records it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from leakguard.capture.outside import process_began
from leakguard.errors import UsageError
from leakguard.live.private_folder import check_private, private_folder

_FILES = "attached-*.json"
# Seconds between two checks whether the attached process has left. Chosen.
_LEFT_EVERY = 0.05


@dataclass(frozen=True, slots=True)
class Presence:
    """A process that is attached to a target; ``began`` is its start time, as pids are reused."""

    pid: int
    began: float

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs; a killed process leaves its file behind."""
        return process_began(self.pid) == self.began


def have_it_leave(target: int, patience: float) -> None:
    """Have the attached process take a last look, print its verdict and leave; wait for it.

    Raises:
        UsageError: no process is attached to the target, or the attached process did not leave
            within ``patience`` seconds.
    """
    presence = who_is_at(target)
    if presence is None:
        raise UsageError(f"nobody is attached to process {target}")
    with contextlib.suppress(ProcessLookupError):
        os.kill(presence.pid, signal.SIGTERM)
    deadline = time.monotonic() + patience
    while who_is_at(target) == presence:
        if time.monotonic() > deadline:
            raise UsageError(f"process {presence.pid} is still attached after {patience:g} s")
        time.sleep(_LEFT_EVERY)


def who_is_at(target: int) -> Presence | None:
    """Return the process that is attached to a target; None if this user has none there."""
    try:
        check_private(private_folder(), os.getuid())
    except OSError:
        return None
    return _living(_file_of(target))


def _living(file: Path) -> Presence | None:
    """Return the running process that wrote a file; if it has ended, remove the file."""
    try:
        told = json.loads(file.read_bytes())
        presence = Presence(int(told["pid"]), float(told["began"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if presence.is_alive:
        return presence
    file.unlink(missing_ok=True)
    return None


@contextlib.contextmanager
def present_at(target: int) -> Iterator[None]:
    """Record that this process is attached to a target while the block runs.

    Raises:
        UsageError: another process is attached to the target.
    """
    other = who_is_at(target)
    if other is not None:
        raise UsageError(
            f"process {target} is attached to already, by process {other.pid}; leakguard detach "
            f"{target} ends that"
        )
    file = _file_of(target)
    try:
        with contextlib.suppress(FileExistsError):
            file.parent.mkdir(mode=0o700)
        check_private(file.parent, os.getuid())
        for one in file.parent.glob(_FILES):
            _living(one)
        own = {"pid": os.getpid(), "began": process_began(os.getpid())}
        file.write_text(json.dumps(own), encoding="ascii")
    except OSError as error:
        raise UsageError(f"{file.parent} is no private folder: {error.strerror}") from None
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def _file_of(target: int) -> Path:
    return private_folder() / _FILES.replace("*", str(target))
