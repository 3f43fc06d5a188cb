"""Runs every program under every tool and writes what each said as a table.

``python -m regression_tests.benchmarks.frameworks.table OUT [TOOL ...] [NAME ...]``; a run that is
stored in OUT is not run again. Needs requirements-frameworks.txt.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import runpy
import signal
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import leakguard
from leakguard.model.finding import SEVERITY

ROOT = Path(__file__).parents[3]
PROGRAMS = Path(__file__).parent / "programs"
TOOLS = ("leakguard", "tracemalloc", "memray")
GENERATIONS = {"leakguard": 24, "tracemalloc": 12, "memray": 12}
LIMIT = 3600  # seconds a run; on a quiet core none takes 60, under a load of 20 some take 700
IMPORTS = {
    "sb3": ["stable_baselines3", "torch"],
    "lightning_module": ["lightning.pytorch", "torchmetrics"],
    "hf_trainer": ["transformers", "transformers.trainer", "accelerate", "torch"],
    "keras_model": ["keras", "torch"],
    "ray_pool": ["ray", "gymnasium"],
    "cleanrl_style": ["torch", "gymnasium"],
}


@dataclass(frozen=True)
class Case:
    """One program with one mistake, or healthy; ``holder`` is a pattern of what keeps it.

    ``phases`` are those that are right, None for what callbacks do between phases; a script without
    any has none.
    """

    subject: str
    program: str
    mistake: str = "healthy"
    holder: str = ""
    phases: tuple[str | None, ...] = ()
    algorithm: str = "PPO"

    @property
    def name(self) -> str:
        return f"{self.subject}-{self.mistake}".replace(" ", "-").lower()

    def lines(self) -> set[str]:
        """Return the lines that make what is kept, as ``program.py:12``."""
        text = (PROGRAMS / f"{self.program}.py").read_text(encoding="utf-8").splitlines()
        made = {number: line for number, line in enumerate(text, 1) if "# MADE HERE" in line}
        if self.program == "sb3":
            made = {number: line for number, line in made.items() if _part(text, number, self)}
        return {f"{self.program}.py:{number}" for number in made}


_CLASSES = {"infos": "StoreInfos", "locals": "StoreLocals", "env-per-episode": "EnvironmentPer"}


def _part(text: list[str], number: int, case: Case) -> bool:
    """Tell whether a line belongs to the class of the case's mistake."""
    classes = [line for line in text[:number] if line.startswith("class ")]
    return _CLASSES.get(case.mistake, " ") in classes[-1]


def _sb3(algorithm: str) -> list[Case]:
    subject, rollout = f"SB3 {algorithm}", ("rollout",)
    return [
        Case(subject, "sb3", algorithm=algorithm),
        Case(subject, "sb3", "infos", r"StoreInfos\.infos", rollout, algorithm),
        Case(subject, "sb3", "locals", r"StoreLocals\.history", ("train", "rollout"), algorithm),
        Case(subject, "sb3", "env-per-episode", r"EnvironmentPerEpisode\.environments", rollout,
             algorithm),
    ]  # fmt: skip


CASES = [
    *_sb3("PPO"),
    Case("Lightning", "lightning_module"),
    Case("Lightning", "lightning_module", "kept-loss", r"\.losses", ("train",)),
    Case("Lightning", "lightning_module", "gathered-outputs", r"\.outputs", ("validate",)),
    Case("Lightning", "lightning_module", "metric-never-reset", r"seen", ("validate",)),
    Case("Transformers", "hf_trainer"),
    Case("Transformers", "hf_trainer", "kept-loss", r"\.losses", ("train",)),
    Case("Transformers", "hf_trainer", "predictions-kept", r"all_predictions", ("evaluate",)),
    Case("Transformers", "hf_trainer", "weights-kept", r"\.checkpoints", ("evaluate",)),
    Case("Keras", "keras_model"),
    Case("Keras", "keras_model", "gathered", r"\.predictions", (None, "evaluate")),
    Case("Keras", "keras_model", "metric-never-reset", r"\.values", ("train", "evaluate")),
    Case("Keras", "keras_model", "weights-kept", r"\.weights", (None,)),
    Case("Ray pool", "ray_pool"),
    Case("Ray pool", "ray_pool", "trajectories-kept", r"\.trajectories", ("rollout",)),
    Case("Ray pool", "ray_pool", "env-per-episode", r"\.environments", ("rollout",)),
    Case("Ray pool", "ray_pool", "weights-cached", r"\.weights", ("rollout",)),
    Case("CleanRL style", "cleanrl_style"),
    Case("CleanRL style", "cleanrl_style", "kept-loss", r"losses"),
    Case("CleanRL style", "cleanrl_style", "infos-kept", r"episodes"),
    Case("CleanRL style", "cleanrl_style", "env-per-episode", r"evaluations"),
    *_sb3("TD3"),
    *_sb3("DQN"),
]


def run_all(cases: list[tuple[Case, str]], folder: Path) -> None:
    """Run these cases under these tools, each in a fork of one process that has the imports done.

    The child runs its program as ``__main__``, as a shell would.
    """
    sys.path.insert(0, str(ROOT))
    os.environ |= {"CUDA_VISIBLE_DEVICES": "", "KERAS_BACKEND": "torch", "PYTHONPATH": str(ROOT)}
    for package in IMPORTS[cases[0][0].program]:
        importlib.import_module(package)
    for case, tool in cases:
        done = folder / f"{case.name}.{tool}.log"
        if done.exists():
            continue
        child = os.fork()
        if not child:
            _run(case, tool, folder)
        _, status = os.waitpid(child, 0)
        if status:
            _raised(case, tool, folder).touch()
        done.with_suffix(".part").rename(done)
        print(f"{case.name} {tool}: exit {status}", file=sys.stderr, flush=True)


def _raised(case: Case, tool: str, folder: Path) -> Path:
    """Return the file that says that a program did not come to its end."""
    return folder / f"{case.name}.{tool}.raised"


def _run(case: Case, tool: str, folder: Path) -> NoReturn:
    """Become the program of one case; its output goes to a file."""
    log = os.open(folder / f"{case.name}.{tool}.part", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ |= {"OUT": str(folder / f"{case.name}.{tool}"), "TOOL": tool,
                   "ALGORITHM": case.algorithm, "GENERATIONS": str(GENERATIONS[tool])}  # fmt: skip
    module = f"regression_tests.benchmarks.frameworks.programs.{case.program}"
    sys.argv = [case.program, case.mistake]
    signal.alarm(LIMIT)
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except Exception:
        traceback.print_exc()
        sys.exit(1)
    sys.exit()


def said(case: Case, folder: Path) -> dict[str, str]:
    """Return what leakguard said, and whether it is right, as the cells of a row."""
    files = [folder / f"{case.name}.leakguard.jsonl"]
    if not files[0].exists():  # each actor of the pool has its own
        files = sorted((folder / f"{case.name}.leakguard").glob("*.jsonl"))
    if not files:
        return {"verdict": "no run", "holder": "", "line": "", "phase": "", "right": "no"}
    reports = [leakguard.diagnose(leakguard.load(path)) for path in files]
    report = max(reports, key=lambda told: SEVERITY[told.verdict])
    named = [f for f in report.findings if re.search(case.holder, f.held_by or "")]
    finding = (named or list(report.findings) or [None])[0] if case.holder else None
    if finding is None:
        first = report.findings[0] if report.findings else None
        other = f"{first.type or first.kind} held by {first.held_by}" if first else ""
        right = "yes" if report.verdict == "stable" and not case.holder else "no"
        return {"verdict": report.verdict, "holder": other, "line": "", "phase": "", "right": right}
    line = (finding.created_at or "").split(" in ")[0]
    marks = [
        "holder" if named else "",
        "line" if any(line.endswith(wanted) for wanted in case.lines()) else "",
        "phase" if finding.phase in case.phases else "",
    ]
    return {"verdict": report.verdict, "holder": finding.held_by or "-",
            "line": "/".join(line.split("/")[-1:]) or "-", "phase": finding.phase or "-",
            "right": ", ".join(filter(None, marks)) or "no"}  # fmt: skip


def traced(case: Case, tool: str, folder: Path) -> tuple[str, bool]:
    """Return a tracer's first line, and whether it is the one that makes what is kept."""
    path = folder / f"{case.name}.{tool}.json"
    if not path.exists():
        return "not run", False
    top = json.loads(path.read_text(encoding="utf-8"))["top"]
    first = top[0] if top else "nothing"
    return first, any(re.search(rf"\b{re.escape(wanted)}\b", first) for wanted in case.lines())


_PREFACE = """\
Each training runs in a process of its own, healthy and with each mistake: 24 generations under the
guard as it comes, through the framework's integration; 12 under tracemalloc and under memray. The
mistakes were planted, and the verdicts took no part in tuning; one callback was changed after a
first run, where an empty phase after a validation had got its growth. Lines did: what a trace that
takes too long tells, and how the line of a kept graph is told apart, was chosen with eight of these
mistakes in sight. **right** says what of a mistake was named as it is: the holder (the list, dict
or attribute that keeps), the line that makes what is kept, the phase. tracemalloc's top line is the
first of `compare_to(..., "lineno")` between the fourth generation's begin and the end; memray's is
the innermost line of the largest allocation that was not freed, with the program's line where its
stack has one: it began inside of a callback, as the guard did, and many of its stacks lack the
frames around it, which `memray run` would have. `(right)`: one of them is the line that makes what
is kept. Neither names a holder or a phase.
"""


def table(folder: Path) -> str:
    """Return the whole table as markdown."""
    done = [case for case in CASES if (folder / f"{case.name}.leakguard.log").exists()]
    rows = [_row(case, folder) for case in done]
    head = ("| training | mistake | verdict | held by | made at | phase | right "
            "| tracemalloc's top line | memray's top line |")  # fmt: skip
    parts = [" ".join(_sums(done, folder)), "", _PREFACE, head, "|---" * 9 + "|", *rows]
    return "\n".join(parts)


def _row(case: Case, folder: Path) -> str:
    told = said(case, folder)
    if _raised(case, TOOLS[0], folder).exists():
        told["right"] += ", but the program raised"
    cells = [case.subject, case.mistake, *told.values()]
    for tool in TOOLS[1:]:
        line, right = traced(case, tool, folder)
        cells.append("" if not case.holder else f"{line}{' (right)' if right else ''}")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _sums(done: list[Case], folder: Path) -> list[str]:
    calm = [case for case in done if not case.holder]
    bad = [case for case in done if case.holder]
    told = {case: said(case, folder) for case in done}
    right = {
        mark: sum(mark in told[case]["right"] for case in bad)
        for mark in ("holder", "line", "phase")
    }
    phased = sum(bool(case.phases) for case in bad)
    stable = sum(told[case]["right"] == "yes" for case in calm)
    found = sum(told[case]["verdict"] in ("leak", "suspect") for case in bad)
    raised = sum(_raised(case, TOOLS[0], folder).exists() for case in done)
    return [
        f"{stable} of {len(calm)} healthy trainings are stable, and {raised} of all {len(done)} "
        "raised an exception.",
        f"Of {len(bad)} mistakes {found} are told as leak or suspect, {right['holder']} with the "
        f"right holder, {right['line']} with the right line, and of {phased} in programs with "
        f"phases {right['phase']} with the right phase.",
        *(_sum_of(tool, bad, folder) for tool in TOOLS[1:]),
    ]


def _sum_of(tool: str, bad: list[Case], folder: Path) -> str:
    answers = [traced(case, tool, folder) for case in bad]
    asked = [right for line, right in answers if line != "not run"]
    return f"The first line of {tool} is the right one in {sum(asked)} of {len(asked)}."


def main() -> None:
    """Run what is asked for, one process a program, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the runs are kept, played or not")
    parser.add_argument("words", nargs="*", help="tools, and parts of the names of trainings")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    asked = [word for word in options.words if word not in TOOLS]
    tools = [tool for tool in TOOLS if tool in options.words] or list(TOOLS)
    for program in IMPORTS:
        cases = [
            (case, tool)
            for tool in tools
            for case in CASES
            if case.program == program
            and (case.holder or tool == "leakguard")
            and (not asked or any(word in case.name for word in asked))
        ]
        if cases and not (child := os.fork()):
            run_all(cases, folder)
            os._exit(0)
        elif cases:
            os.waitpid(child, 0)
    print(table(folder))


if __name__ == "__main__":
    main()
