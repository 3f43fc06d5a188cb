"""Starts the sidecar of a run directory, and what the sidecar itself starts."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from os import getpid  # the program may have put a double in its place
from pathlib import Path
from socket import gethostname

from leakguard.live.run_directory import JOB_VARIABLE
from leakguard.store.run_lock import is_locked

# An interpreter that ignores the program's PYTHONPATH and folder, in which a module could have the
# name of one of ours. Modules are found where this process finds them, after the interpreter's own.
# The words "leakguard.live.sidecar" tell these processes from those of the program.
_PATH = """import sys  # leakguard.live.sidecar
ours, *others = sys.argv.pop(1).split({separator!r})
at = next((n for n, place in enumerate(sys.path) if place.endswith("-packages")), len(sys.path))
sys.path.insert(at, ours)
sys.path += [place for place in others if place not in sys.path]
"""
# The process that is started forks and ends at once, so that the sidecar is no child of anybody
# here: ``os.wait()`` of the program would return for a child.
_BEGIN = """import os
if os.fork():
    os._exit(0)
from leakguard.live.sidecar.following import main
main(*sys.argv[1:])
"""
_COMMAND = """from runpy import run_module
run_module("leakguard", run_name="__main__", alter_sys=True)
"""
# Seconds that the process may take to fork. Chosen: it takes some 0.03 s where a processor is free.
_FORKED_WITHIN = 20.0
_PYTHON = re.compile(r"python(\d(\.\d+)?)?[dt]?$")
_UNSAFE_IN_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


def start_sidecar(folder: Path, file: Path | None = None) -> None:
    """Start the sidecar of a run directory for this process, if it is wanted; never raise.

    It follows this process and those below it: while the process has its run ``file`` open, or else
    until the process ends. There is one for each run directory and machine.
    """
    if not _is_wanted():
        return
    if not sys.platform.startswith("linux") or not _PYTHON.search(sys.executable or ""):
        return
    with contextlib.suppress(Exception):  # the job goes on, and its guards write their runs
        folder.mkdir(parents=True, exist_ok=True)
        folder, file = folder.resolve(), file and file.resolve()  # as /proc names open files
        if _is_taken(folder):
            return
        begin = interpreter(_BEGIN, os.fspath(folder), str(getpid()), os.fspath(file or ""))
        nothing = subprocess.DEVNULL
        process = subprocess.Popen(
            begin, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
        )
        process.wait(_FORKED_WITHIN)


def _is_wanted() -> bool:
    """Return whether the user asked for the processes of the whole job.

    Nobody's other processes are read, and inspected where they grow, unless somebody asked for it.
    """
    return os.environ.get("LEAKGUARD_SIDECAR", os.environ.get(JOB_VARIABLE, "0")) not in ("", "0")


def lock_of(folder: Path) -> Path:
    """Return the file that the sidecar of this machine keeps locked."""
    return folder / f".sidecar-{host_name()}.lock"


def host_name() -> str:
    """Return the name of this machine, as in the names of run files."""
    return _UNSAFE_IN_NAME.sub("_", gethostname())


def command(*words: str) -> Sequence[str]:
    """Return the words that start a command of leakguard in a process of its own."""
    return interpreter(_COMMAND, *words)


def interpreter(program: str, *arguments: str) -> Sequence[str]:
    """Return the words that start an isolated interpreter, which finds our modules."""
    own = str(Path(__file__).parents[3])
    path = os.pathsep.join((own, *(place for place in sys.path if place and place != own)))
    text = _PATH.format(separator=os.pathsep) + program
    return (sys.executable, "-I", "-c", text, path, *arguments)


def _is_taken(folder: Path) -> bool:
    try:
        return is_locked(lock_of(folder))
    except OSError:
        return False
