"""The rehearsal: a new process of the target's executable, to which everything is done first.

The new process reports the addresses of the interpreter's symbols. The target maps the same files,
so the addresses in the target follow from these. The rehearsal also shows that a pending call works
when it is written by the layout of the executable's version. If it fails, the target was not
touched.
"""

from __future__ import annotations

import contextlib
import json
import select
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from leakguard.capture.outside import process_began
from leakguard.errors import UsageError
from leakguard.launch.attach.foreign_memory import Mapping, mappings
from leakguard.launch.attach.pending_call import PendingCall, Symbols
from leakguard.launch.attach.queue_layout import LAYOUTS, REMOTE_EXEC, QueueLayout
from leakguard.launch.attach.running_process import RunningProcess

# The program of the rehearsal. It prints a line that describes the interpreter. Then it sleeps in a
# Python loop until the pending call ``_CALL`` has added an element to ``sys.argv``.
_PROGRAM = """
import ctypes, json, sys, sysconfig, time
def place(name):
    try:
        return ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, name))
    except ValueError:
        return 0
sys.argv = []
print(json.dumps({
    "implementation": sys.implementation.name,
    "version": sys.version_info[:2],
    "runtime": place("_PyRuntime"),
    "run": place("PyRun_SimpleString"),
    "glibc": hasattr(ctypes.CDLL(None), "gnu_get_libc_version"),
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
}), flush=True)
while not sys.argv:
    time.sleep(0.001)
print("done", flush=True)
"""
_CALL = "import sys; sys.argv.append('called')"
# Seconds to wait for each of the two lines that the program of the rehearsal prints. The first line
# comes after its start, the second after the pending call. Chosen: enough on a busy machine.
_REHEARSAL_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What the rehearsal has found out about the target.

    Attributes:
        version: the major and minor version of Python.
        layout: the layout of its queue; None if ``sys.remote_exec`` is used instead.
        symbols: the addresses of the interpreter's symbols in the target.
    """

    version: tuple[int, int]
    layout: QueueLayout | None
    symbols: Symbols


def rehearse(target: RunningProcess) -> Rehearsed:
    """Start the target's executable, find its version and symbols, and make a pending call in it.

    Raises:
        UsageError: the executable is no CPython that can be attached to, or the target runs another
            build than the file that is there now.
    """
    with _started(target) as (process, out):
        told = _told(target, out)
        version = (int(told["version"][0]), int(told["version"][1]))
        symbols = Symbols(int(told["runtime"]), int(told["run"]))
        there = _translated(target, process.pid, symbols)
        layout = _layout_of(target, told, version)
        if layout is not None:
            _rehearse_call(target, process.pid, layout, symbols, out)
        return Rehearsed(version, layout, there)


@contextlib.contextmanager
def _started(target: RunningProcess) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    """Start the executable as the target's user, in the target's file system, on ``_PROGRAM``."""
    with subprocess.Popen(
        [target.executable, "-I", "-S", "-c", _PROGRAM],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=target.environment,
        preexec_fn=target.become_its_user,
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout
        finally:
            process.kill()


def _told(target: RunningProcess, out: IO[bytes]) -> dict[str, Any]:
    line = _line(out)
    try:
        told: dict[str, Any] = json.loads(line)
        return told
    except ValueError:
        raise UsageError(
            f"{target.executable}, which process {target.pid} runs, is no Python that can be "
            "started for a rehearsal (it needs the standard library, ctypes included)"
        ) from None


def _line(out: IO[bytes]) -> bytes:
    ready, _, _ = select.select([out], [], [], _REHEARSAL_SECONDS)
    return out.readline() if ready else b""


def _layout_of(
    target: RunningProcess, told: dict[str, Any], version: tuple[int, int]
) -> QueueLayout | None:
    """Return the layout of a version; None if the version has ``sys.remote_exec``."""
    name = ".".join(map(str, version))
    if told["implementation"] != "cpython":
        raise UsageError(f"process {target.pid} runs {told['implementation']}; CPython is needed")
    if not told["glibc"]:
        raise UsageError(f"process {target.pid} runs without glibc; no safe copy can be made of it")
    if told["free_threaded"]:
        raise UsageError(f"process {target.pid} runs Python {name} without a global lock")
    if version >= REMOTE_EXEC:
        return None
    if version not in LAYOUTS:
        known = f"{'.'.join(map(str, min(LAYOUTS)))} and later"
        raise UsageError(f"process {target.pid} runs Python {name}; {known} can be attached to")
    if not told["runtime"] or not told["run"]:
        raise UsageError(f"{target.executable} exports no symbols; nothing can be found in it")
    return LAYOUTS[version]


def _rehearse_call(
    target: RunningProcess, pid: int, layout: QueueLayout, symbols: Symbols, out: IO[bytes]
) -> None:
    PendingCall(pid, process_began(pid), layout, symbols).make(_CALL)
    if _line(out) != b"done\n":
        raise UsageError(
            f"{target.executable} lays its memory out otherwise than CPython does; nothing was "
            f"done to process {target.pid}"
        )


def _translated(target: RunningProcess, pid: int, symbols: Symbols) -> Symbols:
    """Return the addresses in the target, at the same offsets in the same mapped files."""
    here, there = mappings(pid), mappings(target.pid)
    return Symbols(
        _place(target, symbols.runtime, here, there), _place(target, symbols.run, here, there)
    )


def _place(target: RunningProcess, address: int, here: list[Mapping], there: list[Mapping]) -> int:
    if not address:
        return 0
    file = next((m.file for m in here if m.start <= address < m.end and m.file), None)
    if file is None:  # zero-initialised data, which lies after the mapping of its file
        file = next((m.file for m in reversed(here) if m.end <= address and m.file), None)
    bases = [min((m.start for m in maps if m.file == file), default=0) for maps in (here, there)]
    if file is None or not all(bases):
        raise UsageError(
            f"process {target.pid} runs another build of {target.executable} than the one that "
            "lies there now; it was replaced since the process began"
        )
    return address - bases[0] + bases[1]
