"""Plays each training through the callback and under ``leakguard run``; writes what was said.

``python -m regression_tests.benchmarks.levels.table OUT [PART_OF_A_NAME ...]``; a run that is
stored in OUT is not played again. Needs requirements-frameworks.txt.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import runpy
import signal
import subprocess
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import leakguard
from leakguard.model import Finding, Report

ROOT = Path(__file__).parents[3]
PROGRAMS = Path(__file__).parent / "programs"
LIMIT = 1_800  # seconds a training; none takes 40 on a quiet core
WAYS = ("callback", "run")
ENVIRONMENT = {"CUDA_VISIBLE_DEVICES": "", "KERAS_BACKEND": "torch", "PYTHONPATH": str(ROOT)}
IMPORTS = {
    "lightning_fit": ["lightning.pytorch"],
    "transformers_train": ["transformers", "transformers.trainer", "accelerate"],
    "keras_fit": ["keras"],
    "sb3_learn": ["stable_baselines3"],
}


@dataclass(frozen=True)
class Case:
    """One training, healthy or with one mistake, watched in one of two ways."""

    framework: str
    program: str
    level: str
    holder: str
    told: str
    way: str
    healthy: bool

    @property
    def name(self) -> str:
        """The name of its run file, without the ending."""
        twin = "-healthy" if self.healthy else ""
        return f"{self.program}-{self.level}{twin}.{self.way}"

    @property
    def line(self) -> str:
        """The line that makes what is kept."""
        text = (PROGRAMS / f"{self.program}.py").read_text(encoding="utf-8").splitlines()
        mark = f"# MADE HERE {self.level}"
        return next(f"{self.program}.py:{n}" for n, line in enumerate(text, 1) if mark in line)


def _cases() -> list[Case]:
    """Return all cases; the level of each is given in the words of its framework."""
    kept = {
        ("Lightning", "lightning_fit"): {
            "step": (r"\.losses", "step"), "evaluation": (r"\.outputs", "validation"),
            "epoch": (r"\.history", "epoch"),
        },
        ("Transformers", "transformers_train"): {
            "step": (r"\.losses", "step"), "evaluation": (r"\.predictions", "evaluation"),
            "epoch": (r"\.weights", "epoch"),
        },
        ("Keras", "keras_fit"): {
            "step": (r"\.curve", "step"), "evaluation": (r"\.predictions", "evaluation"),
            "epoch": (r"\.weights", "epoch"),
        },
        ("Stable-Baselines3", "sb3_learn"): {
            "step": (r"\.infos", "step"), "evaluation": (r"\.frames", "evaluation"),
            "epoch": (r"\.rollouts", "rollout"),
        },
    }  # fmt: skip
    return [
        Case(framework, program, level, holder, told, way, healthy)
        for (framework, program), levels in kept.items()
        for level, (holder, told) in levels.items()
        for healthy in (False, True)
        for way in WAYS
    ]


def play_all(cases: list[Case], folder: Path) -> None:
    """Play the trainings of one program, unless that was done before.

    Those with a callback are forks of one process that has the imports done. Under ``leakguard
    run`` each is a process of its own, as a shell would start it.
    """
    sys.path.insert(0, str(ROOT))
    os.environ |= ENVIRONMENT
    waiting = [case for case in cases if not (folder / f"{case.name}.log").exists()]
    for case in waiting:
        (folder / f"{case.name}.jsonl").unlink(missing_ok=True)
        part = folder / f"{case.name}.part"
        with part.open("w") as stream:
            play = _fork if case.way == "callback" else _start
            print(f"exit {play(case, folder, stream)}", file=stream)
        part.rename(part.with_suffix(".log"))
        print(f"{case.name}: played", file=sys.stderr, flush=True)


def _arguments(case: Case) -> list[str]:
    return [str(PROGRAMS / f"{case.program}.py"), case.level, *["healthy"] * case.healthy]


def _start(case: Case, folder: Path, stream: IO[str]) -> int:
    """Play a training under ``leakguard run``; return its exit status."""
    out = folder / f"{case.name}.jsonl"
    command = [sys.executable, "-m", "leakguard", "run", "-o", str(out), *_arguments(case)]
    return subprocess.run(
        command, stdout=stream, stderr=stream, cwd=ROOT, timeout=LIMIT, check=False
    ).returncode


def _fork(case: Case, folder: Path, stream: IO[str]) -> int:
    """Play a training with the framework's callback in a copy of this process."""
    for package in IMPORTS[case.program]:
        importlib.import_module(package)
    child = os.fork()
    if not child:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
        os.environ["LEVELS_OUT"] = str(folder / f"{case.name}.jsonl")
        sys.argv = _arguments(case)
        signal.alarm(LIMIT)
        status = 1
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def report_of(case: Case, folder: Path) -> Report | None:
    """Return the report of a run; None if nothing was recorded."""
    path = folder / f"{case.name}.jsonl"
    return leakguard.diagnose(leakguard.load(path)) if path.exists() else None


def cells_of(case: Case, report: Report | None) -> list[str]:
    """Return what was said of a run, and what of it is right."""
    if report is None:
        return ["no run", "", "", "", "", "no"]
    size = f"{report.run.recorded_generations:,} of {report.run.info.generation_means or '?'}"
    named = [f for f in report.findings if re.search(case.holder, f.held_by or "")]
    found = next(iter(named or report.findings), None)
    if found is None:
        right = "yes" if case.healthy and report.verdict == "stable" else "no"
        return [report.verdict, size, "", "", "", right]
    line = (found.created_at or "").split(" in ")[0].rpartition("/")[2]
    marks = {
        "verdict": report.verdict == "leak",
        "holder": bool(named),
        "line": line == case.line,
        "level": _level(found) == case.told,
        "not our callback": "LeakGuardCallback" not in (found.held_by or ""),
    }
    told = [mark for mark, right in marks.items() if right and mark != "not our callback"]
    if not marks["not our callback"]:
        told.append("held by OUR callback")
    right = "no" if case.healthy else ("yes" if all(marks.values()) else ", ".join(told) or "no")
    return [report.verdict, size, _level(found) or "-", found.held_by or "-", line or "-", right]


def _level(finding: Finding) -> str | None:
    """Return the level that was told; None for a version of leakguard that knows of none."""
    level = getattr(finding, "level", None)
    return None if level is None else level.name


_PREFACE = """\
Each training is played in a process of its own, through the framework's callback and, unchanged,
under `leakguard run`. 1,200 steps of at least 4 ms: in one epoch, with a leak by step; in one
epoch with three validations (Keras, which validates at the end of an epoch: in three epochs),
with a leak in each; in six epochs, with steps of at least 12 ms and a leak at the end of each
epoch. The healthy twin is the same program that gives back what it takes, and is right if it is
told as stable. Of a leak, the verdict, the holder, the line that makes what is kept, and the
level are right or not; "yes" is all four, and a way to the holder that does not lead through
leakguard's own callback. A rollout of stable-baselines3 stands for an epoch.
"""


def table(cases: list[Case], folder: Path) -> str:
    """Return what was said of each run, as markdown."""
    rows, right, calm = [], 0, 0
    for case in cases:
        cells = cells_of(case, report_of(case, folder))
        right += not case.healthy and cells[-1] == "yes"
        calm += case.healthy and cells[-1] == "yes"
        what = f"{case.level}{', healthy' if case.healthy else ''}"
        rows.append("| " + " | ".join([case.framework, case.way, what, *cells]) + " |")
    bad = sum(not case.healthy for case in cases)
    head = ("| framework | watched by | grows by | verdict | generations | level told | held by "
            "| made at | right |")  # fmt: skip
    return "\n".join([
        f"{right} of {bad} leaks are told with verdict, level, holder and line; {calm} of "
        f"{len(cases) - bad} healthy twins are stable.",
        "", _PREFACE, head, "|---" * 9 + "|", *rows,
    ])  # fmt: skip


def main() -> None:
    """Play what is asked for, one training after the other, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the runs are kept, played or not")
    parser.add_argument("words", nargs="*", help="parts of the names of trainings")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    cases = [c for c in _cases() if not options.words or any(w in c.name for w in options.words)]
    for program in IMPORTS:
        if not (child := os.fork()):
            play_all([case for case in cases if case.program == program], folder)
            os._exit(0)
        os.waitpid(child, 0)
    print(table([c for c in cases if (folder / f"{c.name}.log").exists()], folder))


if __name__ == "__main__":
    main()
