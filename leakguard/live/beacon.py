"""How another process finds a running guard: a small file, and a signal to it.

A guard that was told ``on_signal=`` writes ``leakguard-PID.json`` into the folder for temporary
files, with the signal it answers and the file it records to. ``leakguard snapshot PID`` reads it.
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from leakguard.errors import UsageError

_Handler = Callable[[int, "FrameType | None"], object]


@dataclass(frozen=True, slots=True)
class Beacon:
    """What a listening guard tells: the signal it answers with a look, and where it writes."""

    pid: int
    signal: int
    out: Path


def beacon_path(pid: int) -> Path:
    """Return where the guard of process ``pid`` says that it listens."""
    return Path(tempfile.gettempdir()) / f"leakguard-{pid}.json"


def find_beacon(pid: int) -> Beacon:
    """Return what the guard of process ``pid`` told.

    Raises:
        UsageError: no guard of that process listens.
    """
    try:
        told = json.loads(beacon_path(pid).read_bytes())
        return Beacon(pid, int(told["signal"]), Path(told["out"]))
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(
            f"no guard listens in process {pid}; start it with "
            "LeakGuard(out=..., on_signal=signal.SIGUSR1)"
        ) from None


class Listener:
    """Answers a signal for as long as a guard runs."""

    def __init__(self, number: int, out: Path, answer: Callable[[], None]) -> None:
        """Install the handler; only the main thread may.

        Raises:
            UsageError: this is another thread, or the signal cannot be caught.
        """
        self._number = number
        self._path = beacon_path(os.getpid())
        try:
            self._before = signal.signal(number, lambda number, frame: answer())
        except (ValueError, OSError) as error:
            raise UsageError(f"on_signal={number} cannot be used: {error}") from None
        self._path.write_text(json.dumps({"signal": number, "out": str(out.absolute())}))

    def close(self) -> None:
        """Take the file away and put the handler of before back."""
        self._path.unlink(missing_ok=True)
        before = self._before
        signal.signal(self._number, signal.SIG_DFL if before is None else before)
