"""Play every program of the set once, each in a process of its own, and write the table.

python -m regression_tests.benchmarks.silence [OUT]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import leakguard
from leakguard.model import Finding, Report
from regression_tests.benchmarks.silence import plain, tensors
from regression_tests.benchmarks.silence.program import Program

PROGRAMS = {program.name: program for program in (*plain.PROGRAMS, *tensors.PROGRAMS)}
_OUT = Path("reports/silence/table.md")
_LIMIT = 300  # seconds; the machine may be busy
_HEAD = """# Kinds that went untold: programs written after the repair

Each program was played once, a leak and its calm twin, each in a process of its own:
`python -m regression_tests.benchmarks.silence`. None of them was seen before the repair, and
nothing was changed after they were played. Right is a leak whose holders are all named with a fix
that fits, and a twin without a leak or suspect.

| program | torch | side | verdict | named | explained | fix fits | right |
|---|---|---|---|---|---|---|---|
"""


def play(name: str, side: str, out: str) -> None:
    """Play one program into a run file."""
    program = PROGRAMS[name]
    with leakguard.LeakGuard(out=out) as guard:
        for step in program.make(side == "leak"):
            for number in guard.generations(range(program.rounds)):
                with guard.phase("round"):
                    step(number)


def main(out: Path) -> None:
    """Play all and write the table."""
    rows, right = [], {"leak": 0, "clean": 0}
    for program in PROGRAMS.values():
        for side in right:
            row, is_right = _row(program, side, _played(program, side))
            rows.append(row)
            right[side] += is_right
            print(row, flush=True)
    said = f"Right: {right['leak']} of {len(PROGRAMS)} leaks, {right['clean']} twins.\n"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(_HEAD + "\n".join(rows) + f"\n\n{said}", encoding="utf-8")
    print(said)


def _played(program: Program, side: str) -> Report | str:
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run.jsonl"
        command = [sys.executable, "-m", __spec__.name, "play", program.name, side, str(run)]
        try:
            subprocess.run(command, check=True, timeout=_LIMIT, capture_output=True)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            return type(error).__name__
        return leakguard.diagnose(leakguard.load(run))


def _row(program: Program, side: str, report: Report | str) -> tuple[str, bool]:
    torch = "yes" if program.torch else ""
    if isinstance(report, str):
        return f"| {program.name} | {torch} | {side} | not played: {report} ||||no |", False
    told = [f for f in report.findings if f.verdict in ("leak", "suspect")]
    named = [part for part in program.held_by if any(_is_named(f, part) for f in told)]
    fits = any(program.fix in (f.fix or "") for f in told)
    is_right = not told if side == "clean" else len(named) == len(program.held_by) and fits
    balance = report.balance
    share = "" if balance is None else f"{balance.findings / balance.growth:.0%}"
    holders = ", ".join(f"`{f.held_by}`" for f in told) or "nothing"
    fix = "" if side == "clean" else _yes(fits)
    cells = (program.name, torch, side, report.verdict, holders, share, fix, _yes(is_right))
    return f"| {' | '.join(cells)} |", is_right


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"


def _is_named(finding: Finding, part: str) -> bool:
    return part in (finding.held_by or "")


if __name__ == "__main__":
    if sys.argv[1:2] == ["play"]:
        play(*sys.argv[2:])
    else:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else _OUT)
