"""The ways to start children, each a program that knows nothing of leakguard."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

PROGRAMS = Path(__file__).parent / "programs"
Kind = Literal["leak", "calm"]
#: Who watches: a guard in the parent, ``leakguard run`` around it, or nobody.
Watcher = Literal["guard", "run", "nobody"]
_TORCHRUN = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port")
# The line of ``step`` that makes the rows, and the list that keeps them.
_MADE = "row = ["
HOLDER = "work.history"

#: Program, and what the table says of it.
WAYS = {
    "fork": "`Process`, fork",
    "spawn": "`Process`, spawn",
    "forkserver": "`Process`, forkserver",
    "pool": "`multiprocessing.Pool`",
    "executor": "`ProcessPoolExecutor`",
    "loky": "joblib (loky)",
    "loader": "`DataLoader` workers",
    "subproc": "`SubprocVecEnv`",
    "vector": "`AsyncVectorEnv`",
    "ray_actors": "Ray actors",
    "ranks": "`torchrun` ranks",
}


@dataclass(frozen=True, slots=True)
class Played:
    """A program that has run: its run directory, its exit status and output, who leaked."""

    folder: Path
    status: int
    output: str
    leaking: int | None

    @property
    def rounds(self) -> int:
        """The rounds that its parent made; 0 if it did not say."""
        words = [line.split() for line in self.output.splitlines() if line.endswith(" rounds")]
        return int(words[0][0]) if words else 0


def line_made() -> int:
    """Return the line of the program that makes what is kept."""
    lines = (PROGRAMS / "work.py").read_text("utf-8").splitlines()
    return 1 + next(at for at, line in enumerate(lines) if _MADE in line)


def play(
    way: str,
    kind: Kind,
    watcher: Watcher,
    seconds: float,
    *,
    sidecar: bool = True,
    pause: float = 0.02,
) -> Played:
    """Run a program to its end; its children pause for so many seconds after each step."""
    place = Path(tempfile.mkdtemp(prefix="job-children-"))
    claims, folder = place / "claims", place / "job"
    claims.mkdir()
    folder.mkdir()
    environment = {
        **os.environ,
        "CLAIMS": os.fspath(claims),
        "KIND": kind,
        "LEAKGUARD_SIDECAR": str(int(sidecar)),
        "PAUSE": f"{pause}",
        "SECONDS": f"{seconds}",
        "PYTHONPATH": os.pathsep.join((os.fspath(PROGRAMS), os.environ.get("PYTHONPATH", ""))),
        **({"GUARD": f"{folder}/"} if watcher == "guard" else {}),
    }
    done = subprocess.run(
        _command(way, watcher, folder, place),
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        timeout=10 * seconds + 120,
        check=False,
    )
    told = claims / "leaking"
    pid = int(told.read_text("ascii")) if told.exists() else None
    (place / "stderr").write_text(done.stderr, encoding="utf-8")
    return Played(folder, done.returncode, done.stdout, pid)


def _command(way: str, watcher: Watcher, folder: Path, place: Path) -> Sequence[str]:
    before = (sys.executable, "-m", "leakguard", "run", "-o", f"{folder}/")
    program = os.fspath(PROGRAMS / f"{way}.py")
    torchrun = (*_TORCHRUN, str(20_000 + hash(place) % 20_000)) if way == "ranks" else ()
    return (*(before if watcher == "run" else (sys.executable,)), *torchrun, program)
