"""Runs one command and says how it ended and what it and all its descendants used.

    python -m regression_tests.benchmarks.harm.supervisor SECONDS OUT ERR COMMAND...

prints an ``Ended`` as JSON. It is a process of its own so that it can adopt what the program leaves
behind, whose CPU time would be nobody's else.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

_SET_CHILD_SUBREAPER = 36
# Seconds between two looks at the memory of the program alone, which is one small file; and of the
# whole tree, for which the kernel walks all pages: at most a fifth of the time goes there.
_PAUSE, _TREE_PAUSE, _TREE_SHARE = 0.02, 0.1, 0.2
# Seconds for which what is left behind may go on before it is ended; and before it counts as left.
_PATIENCE, _GRACE = 10.0, 1.0


@dataclass
class Ended:
    """How a program ended; seconds are those of all its descendants, sizes are the highest seen.

    Attributes:
        wall_s: seconds until its end, less ``queued_s``.
        queued_s: those in which its main thread could have run and had no core, as on a machine
            that others use.
        status: exit status, or minus the signal; None where it did not end in time.
        died_of_term: whether SIGTERM ended what did not end by itself; None where it was not sent.
        left_behind: processes that were still there a second after the program's end.
        peak_mb: highest resident size of the program's own process.
        tree_mb: highest proportional size of the program and its descendants together.
    """

    status: int | None = None
    died_of_term: bool | None = None
    left_behind: int = 0
    wall_s: float = 0.0
    queued_s: float = 0.0
    cpu_s: float = 0.0
    peak_mb: float = 0.0
    tree_mb: float = 0.0


class Supervised:
    """One program while it runs."""

    def __init__(self, command: list[str], out: str, err: str) -> None:
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.ended = Ended()
        self._begun = time.perf_counter()
        self._tree_due = 0.0
        with open(out, "wb") as stdout, open(err, "wb") as stderr:
            self._process = subprocess.Popen(
                command, stdin=sys.stdin, stdout=stdout, stderr=stderr, start_new_session=True
            )
        self._pid = self._process.pid

    def until_end(self, seconds: float) -> Ended:
        """Wait for the end, of the program and of all that it began."""
        if not self._wait(seconds):
            os.kill(self._pid, signal.SIGTERM)
            self.ended.died_of_term = self._wait(3.0)
            self.ended.status = None
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._pid, signal.SIGKILL)
        self.ended.wall_s = time.perf_counter() - self._begun - self.ended.queued_s
        self._end_the_rest()
        return self.ended

    def _wait(self, seconds: float) -> bool:
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            for pid, state in self._reaped():
                if pid == self._pid:
                    self.ended.status = os.waitstatus_to_exitcode(state)
                    self._process.returncode = self.ended.status
                    return True
            self._measure()
            time.sleep(_PAUSE)
        return False

    def _reaped(self) -> Iterator[tuple[int, int]]:
        """Yield what has ended, and add up what it used."""
        with contextlib.suppress(ChildProcessError):
            while os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                self._read_queue()  # for the last time, where the program itself has ended
                ended = os.wait4(-1, os.WNOHANG)
                pid, state, used = ended
                self.ended.cpu_s += used.ru_utime + used.ru_stime
                yield pid, state

    def _read_queue(self) -> None:
        with contextlib.suppress(OSError, IndexError, ValueError):
            told = Path(f"/proc/{self._pid}/schedstat").read_bytes()
            self.ended.queued_s = int(told.split()[1]) / 1e9

    def _measure(self) -> None:
        self._read_queue()
        with contextlib.suppress(OSError, StopIteration), open(f"/proc/{self._pid}/status") as file:
            peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))
            self.ended.peak_mb = max(self.ended.peak_mb, peak / 1000)
        now = time.perf_counter()
        if now >= self._tree_due:
            self.ended.tree_mb = max(self.ended.tree_mb, sum(map(_pss_mb, _descendants())))
            took = time.perf_counter() - now
            self._tree_due = now + max(_TREE_PAUSE, took / _TREE_SHARE)

    def _end_the_rest(self) -> None:
        begun = time.perf_counter()
        while _descendants() and time.perf_counter() - begun < _GRACE:
            list(self._reaped())
            time.sleep(_PAUSE)
        self.ended.left_behind = len(_descendants())
        while alive := _descendants():
            list(self._reaped())
            if self.ended.status is None or time.perf_counter() - begun > _PATIENCE:
                for process in alive:
                    with contextlib.suppress(psutil.NoSuchProcess):
                        process.kill()
            time.sleep(_PAUSE)
        list(self._reaped())


def _descendants() -> list[psutil.Process]:
    return [p for p in psutil.Process().children(recursive=True) if _is_alive(p)]


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _pss_mb(process: psutil.Process) -> float:
    try:
        with open(f"/proc/{process.pid}/smaps_rollup") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1000
    except (OSError, StopIteration):  # it has ended
        return 0.0


def _as_in_a_shell() -> None:
    """Let the program have the signals' defaults, whatever the laboratory was started by."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def main(seconds: str, out: str, err: str, *command: str) -> None:
    """Run the command and print how it ended."""
    _as_in_a_shell()
    print(json.dumps(asdict(Supervised(list(command), out, err).until_end(float(seconds)))))


if __name__ == "__main__":
    main(*sys.argv[1:])
