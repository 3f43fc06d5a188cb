"""Programs that know nothing of leakguard, started as they would be without it."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"
_KNOWN = ("3.10", "3.11", "3.12", "3.13")
# Processor time after which a program has begun its work, in clock ticks, and seconds to wait.
_BEGUN, _START_SECONDS = 5, 20.0
# Seconds more for a program that imports much before it begins.
_IMPORTS = {"kernel": 4.0, "training": 4.0}


def interpreters() -> dict[str, str]:
    """Return the Pythons of this machine by version, and the system's own by ``system``.

    The one that runs here comes first among those of its version.
    """
    found = {f"{sys.version_info.major}.{sys.version_info.minor}": sys.executable}
    for version in _KNOWN:
        places = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python3"))
        other = os.fspath(places[-1]) if places else shutil.which(f"python{version}")
        if other is not None:
            found.setdefault(version, other)
    system = Path("/usr/bin/python3")
    if system.exists():
        found["system"] = os.fspath(system)
    return dict(sorted(found.items()))


@contextlib.contextmanager
def running(
    program: str,
    *arguments: str,
    python: str = sys.executable,
    before: Sequence[str] = (),
    **options: object,
) -> Iterator[subprocess.Popen[str]]:
    """Yield a process that runs a program, once it has begun; ``before`` is what starts it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [*before, python, os.fspath(PROGRAMS / f"{program}.py"), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd="/" if "user" in options else folder,
            **options,  # type: ignore[call-overload]
        ) as process,
    ):
        try:
            _wait_until_begun(process.pid)
            time.sleep(_IMPORTS.get(program, 0.2))
            yield process
        finally:
            process.kill()


def _wait_until_begun(pid: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while _ticks(pid) < _BEGUN and time.monotonic() < deadline:
        time.sleep(0.05)


def _ticks(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])
    except OSError:
        return 0


def child_of(pid: int) -> int:
    """Return the process that ``unshare`` and the like have started."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
        if children:
            return int(children[0])
        time.sleep(0.02)
    raise TimeoutError("it has started nothing")


def threads_of(pid: int) -> int:
    """Return how many threads a process has."""
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def files_of(pid: int) -> int:
    """Return how many files a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))
