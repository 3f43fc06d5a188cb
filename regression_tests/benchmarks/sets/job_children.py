"""Programs that start children in each way, one of which leaks, and calm twins."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Literal

from leakguard.analysis.job import diagnose_job
from leakguard.model.finding import SEVERITY
from leakguard.store import load_job
from regression_tests.benchmarks.leakbench.program import Truth
from regression_tests.benchmarks.leakbench.score import Said, said_by
from regression_tests.benchmarks.playing.entry import BENCHMARKS, ROOT, STEM, Entry, python
from regression_tests.benchmarks.playing.manifest import Manifest
from regression_tests.benchmarks.playing.play import Answer

#: A guard in the parent, ``leakguard run`` around it, or nobody.
Watcher = Literal["guard", "run", "nobody"]
SECONDS = 75.0
_FOLDER = BENCHMARKS / "job_children" / "programs"
_TORCHRUN = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone")
_PID = re.compile(r"^(?P<pid>\d+) leaks$", re.M)

#: Program, and what it needs.
WAYS: dict[str, tuple[str, ...]] = {
    "fork": (), "spawn": (), "forkserver": (), "pool": (), "executor": (), "loky": ("joblib",),
    "loader": ("torch",), "subproc": ("stable_baselines3",), "vector": ("gymnasium",),
    "ray_actors": ("ray",), "ranks": ("torch",),
}  # fmt: skip


def _entries() -> Iterator[Entry]:
    for way in WAYS:
        for watcher in ("guard", "run"):
            for side in ("leak", "calm"):
                yield entry_of(way, side, watcher, SECONDS)


def entry_of(
    way: str,
    side: str,
    watcher: Watcher,
    seconds: float,
    *,
    sidecar: bool = True,
    pause: float = 0.02,
) -> Entry:
    """Return a program whose children pause for so many seconds after each step."""
    guard = {"GUARD": f"{STEM}/"} if watcher == "guard" else {}
    watch = ("-m", "leakguard", "run", "-o", f"{STEM}/") if watcher == "run" else ()
    start = _TORCHRUN if way == "ranks" else ()
    return Entry(
        "job_children",
        f"{way}-{watcher}-{side}" + ("" if sidecar else "-without"),
        "work.py",
        (_truth(),) if side == "leak" else (),
        partial(python, *watch, *start, str(_FOLDER / f"{way}.py")),
        {
            **guard,
            "KIND": side,
            "LEAKGUARD_SIDECAR": str(int(sidecar)),
            "PAUSE": f"{pause}",
            "SECONDS": f"{seconds}",
            "PYTHONPATH": os.pathsep.join([str(_FOLDER), str(ROOT)]),
        },
        needs=WAYS[way],
        recorded=watcher != "nobody",
    )


def _truth() -> Truth:
    """Return what leaks: the rows of one child, in a list of its module."""
    lines = (_FOLDER / "work.py").read_text(encoding="utf-8").splitlines()
    made = 1 + next(at for at, line in enumerate(lines) if "row = [" in line)
    return Truth((), holder=("work.history",), start=None, lines=(f"work.py:{made}",))


def _judge(entry: Entry, run: Path | None, printed: str) -> Answer:
    """Return what the job's report says of the child that leaks; of a calm job, whom it accuses."""
    job = None if run is None else load_job(run)
    if job is None:
        return Answer(failure="no report")
    report, each = diagnose_job(job)
    if not entry.truths:
        accused = [row for row in report.processes if SEVERITY[row.verdict] >= SEVERITY["suspect"]]
        said = (Said(row.verdict, holder=row.label, reason=row.what or "") for row in accused)
        return Answer(report.verdict, tuple(said))
    pid = _PID.search(printed)
    own = next((one for one in each if pid and one.run.info.pid == int(pid["pid"])), None)
    if own is None:
        return Answer("not seen")
    return Answer(own.verdict, tuple(map(said_by, own.findings)))


SETS = (
    Manifest(
        "job_children",
        _entries,
        "Programs that start children in each way; one of them keeps what it makes (4 MB a second "
        "where it does not wait for others), or none does. The parent has a guard that writes into "
        f"a folder, or runs under `leakguard run -o FOLDER/`, for {SECONDS:g} s; of `torchrun`, "
        "each rank has the guard, or `torchrun` itself runs under it.",
        ("holder", "line"),
        judge=_judge,
    ),
)
