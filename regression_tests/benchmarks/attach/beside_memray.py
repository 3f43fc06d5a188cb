"""The same program under ``memray attach``: how long does it stop, and what is known afterwards?"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from regression_tests.benchmarks.attach.measure import stops_of
from regression_tests.benchmarks.attach.strangers import files_of, running, threads_of

_PATIENCE = 120


@dataclass(frozen=True, slots=True)
class Memray:
    """What ``memray attach`` did: its status, seconds for which it stopped the program, traces."""

    worked: bool
    stopped: float
    threads: int
    files: int
    tells: str


def memray_attach(program: str, seconds: int) -> Memray:
    """Attach memray to a leaking program for some seconds, with small blocks recorded too."""
    with tempfile.TemporaryDirectory() as folder, running(program, "leak") as process:
        out = Path(folder) / "memray.bin"
        threads, files = threads_of(process.pid), files_of(process.pid)
        with stops_of(process.pid) as stopped:
            ended = subprocess.run(
                [sys.executable, "-m", "memray", "attach", "--trace-python-allocators", "--verbose",
                 "--aggregate", "--duration", str(seconds), "-o", str(out), str(process.pid)],
                capture_output=True, text=True, timeout=_PATIENCE, check=False,
            )  # fmt: skip
            _wait(process, seconds)
            still = stopped()
        alive = process.poll() is None
        worked = ended.returncode == 0 and alive
        return Memray(
            worked=worked,
            stopped=still,
            threads=threads_of(process.pid) - threads if alive else 0,
            files=files_of(process.pid) - files if alive else 0,
            tells=_top(out) if worked else _problem(ended.stdout + ended.stderr),
        )


def _problem(said: str) -> str:
    """Return what the debugger said that went wrong."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    told = (lines[at + 1] for at, line in enumerate(lines[:-1]) if "Error in sourced" in line)
    return next(told, lines[-1] if lines else "nothing")


def _wait(process: subprocess.Popen[str], seconds: int) -> None:
    """Let memray's own timer in the program end the tracking."""
    try:
        process.wait(timeout=seconds + 3)
    except subprocess.TimeoutExpired:
        return


def _top(out: Path) -> str:
    """Return the line that had most bytes, as memray's statistics name it."""
    told = subprocess.run(
        [sys.executable, "-m", "memray", "stats", str(out)],
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    ).stdout
    lines = [line.strip(" -") for line in told.splitlines() if ".py:" in line]
    return lines[0] if lines else "nothing"
