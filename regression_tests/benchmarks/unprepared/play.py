"""One script, run by the interpreter alone and by ``leakguard run``, in turns."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from leakguard import diagnose, load
from leakguard.errors import UnreadableRun
from leakguard.model import Report, Run
from regression_tests.benchmarks.unprepared.script import Script


@dataclass(frozen=True)
class Ended:
    """What a process printed and how it ended; CPU seconds are those of its children too."""

    out: bytes
    err: bytes
    status: int
    cpu_seconds: float


@dataclass
class Played:
    """All runs of one script, in pairs, and what the last watched one recorded."""

    script: Script
    alone: list[Ended] = field(default_factory=list)
    watched: list[Ended] = field(default_factory=list)
    run: Run | None = None

    @property
    def report(self) -> Report | None:
        """The diagnosis of the run; None where nothing was recorded."""
        return None if self.run is None else diagnose(self.run)

    @property
    def same(self) -> bool:
        """Whether each pair printed the same and ended with the same status."""
        words = re.compile((self.script.volatile or r"(?!)").encode())
        pairs = zip(self.alone, self.watched, strict=True)
        return all(
            one.status == other.status and words.sub(b"", one.out) == words.sub(b"", other.out)
            for one, other in pairs
        )

    @property
    def extra_seconds(self) -> float:
        """The median of the CPU seconds that being watched took on top."""
        pairs = zip(self.alone, self.watched, strict=True)
        return median(other.cpu_seconds - one.cpu_seconds for one, other in pairs)

    @property
    def own_seconds(self) -> float | None:
        """The CPU seconds that the guard charged itself with while the script ran."""
        costs = [s.cost.total for s in self.run.snapshots if s.cost.total] if self.run else []
        return costs[-1] if costs else None


def play(
    script: Script, folder: Path, rounds: int, keep: Path | None, *, core: int | None = None
) -> Played:
    """Run a script ``rounds`` times alone and as often watched, whoever is first taking turns.

    Two that share a ``core`` run at the same time: the machine is as fast for one as for the other.
    """
    played = Played(script)
    with tempfile.TemporaryDirectory() as scratch:
        file = (keep or Path(scratch)) / f"{Path(script.path).stem}.jsonl"
        file.unlink(missing_ok=True)
        command = ["-m", "leakguard", "run", "-o", os.fspath(file), *script.options]
        for number in range(rounds):
            turns = [(played.alone, []), (played.watched, command)]
            with ThreadPoolExecutor(1 if core is None else 2) as pool:
                for ended, prefix in turns if number % 2 else reversed(turns):
                    running = pool.submit(_ended, prefix, script, folder, Path(scratch), core)
                    running.add_done_callback(lambda done, kept=ended: kept.append(done.result()))
        try:
            played.run = load(file)
        except UnreadableRun:
            played.run = None
    return played


def _ended(
    prefix: Sequence[str], script: Script, folder: Path, scratch: Path, core: int | None
) -> Ended:
    path = folder / script.path
    paths = [os.fspath(folder / entry) for entry in (*script.paths, ".")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")]),
        "OMP_NUM_THREADS": "1",
        "MPLBACKEND": "Agg",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "",  # an installed package has its bytecode
    }
    arguments = [text.replace("{folder}", os.fspath(folder)) for text in script.arguments]
    command = [sys.executable, *prefix, os.fspath(path), *arguments]
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        tempfile.TemporaryDirectory(dir=scratch) as here,
    ):
        process = subprocess.Popen(command, stdout=out, stderr=err, cwd=here, env=environment)
        if core is not None:
            os.sched_setaffinity(process.pid, {core})
        _, state, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(state)
        out.seek(0)
        err.seek(0)
        cpu = used.ru_utime + used.ru_stime
        return Ended(out.read(), err.read(), process.returncode, cpu)
