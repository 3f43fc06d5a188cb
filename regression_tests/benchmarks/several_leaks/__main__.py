"""Play the programs: ``python -m regression_tests.benchmarks.several_leaks --help``."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import leakguard
from leakguard.model import Finding
from regression_tests.benchmarks.playing import failure_of
from regression_tests.benchmarks.several_leaks.program import Planted, Program, program_of

_PATIENCE = 120.0
# The checkout: its leakguard is the one that is played.
_ROOT = Path(__file__).parents[3]
_ALARMS = ("leak", "suspect")


@dataclass(frozen=True, slots=True)
class Marks:
    """What was right about one leak."""

    told: bool
    holder: bool = False
    phase: bool = False
    line: bool = False
    start: bool = False


def played(program: Program, folder: Path) -> tuple[Finding, ...] | str:
    """Return the findings of one run of a program, or why there are none."""
    script, run = folder / "program.py", folder / "run.jsonl"
    script.write_text(program.source, encoding="utf-8")
    run.unlink(missing_ok=True)
    paths = os.pathsep.join([str(_ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(script), str(run)]
    failure = failure_of(command, _PATIENCE, variables={"PYTHONPATH": paths})
    if failure is not None:
        return failure
    return leakguard.diagnose(leakguard.load(run)).findings


def marks_of(leak: Planted, findings: Sequence[Finding]) -> Marks:
    """Return what the best finding says rightly of a leak: that with its holder, else its phase."""
    alarms = [f for f in findings if f.verdict in _ALARMS]
    held = [f for f in alarms if leak.kind.holder in (f.held_by or "")]
    best = next(iter(held or [f for f in alarms if f.phase == leak.phase]), None)
    if best is None:
        return Marks(told=False)
    where = (best.created_at or "").partition(" ")[0].rpartition(":")[2]
    return Marks(
        told=True,
        holder=bool(held),
        phase=best.phase == leak.phase,
        # The line that makes what is kept, or the next one, which makes the entry and keeps it.
        line=where in (str(leak.line), str(leak.line + 1)),
        start=best.started_at in (1, 2),
    )


def strangers(program: Program, findings: Sequence[Finding]) -> list[Finding]:
    """Return the alarms that are about none of the leaks."""
    alarms = [f for f in findings if f.verdict in _ALARMS]
    return [f for f in alarms if not any(_is_about(leak, f) for leak in program.leaks)]


def _is_about(leak: Planted, finding: Finding) -> bool:
    return leak.kind.holder in (finding.held_by or "") or finding.phase == leak.phase


def main() -> None:
    """Play each seed and its twin, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=1, metavar="SEED")
    parser.add_argument("--programs", type=int, default=60, metavar="N")
    parser.add_argument("--times", type=int, default=1, metavar="K", help="each one K times")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the table here, too")
    options = parser.parse_args()
    rows, sums = [], Counter[str]()
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(options.first, options.first + options.programs):
            for time in range(options.times):
                rows += _rows(seed, time + 1, Path(scratch), sums)
                print(rows[-1], file=sys.stderr, flush=True)
    page = "\n".join([*_head(sums), *rows]) + "\n"
    print(page)
    if options.out:
        options.out.write_text(page, encoding="utf-8")


def _rows(seed: int, time: int, folder: Path, sums: Counter[str]) -> list[str]:
    leaky, twin = program_of(seed, leaky=True), program_of(seed, leaky=False)
    found, clean = played(leaky, folder), played(twin, folder)
    about = f"| {seed}.{time} | {leaky.generations} x {leaky.seconds:g} s"
    about += f" | {'torch' if leaky.has_torch else ''} "
    if isinstance(found, str) or isinstance(clean, str):
        sums["failed"] += 1
        return [f"{about}| failed: {found if isinstance(found, str) else clean} | | | |"]
    marks = [marks_of(leak, found) for leak in leaky.leaks]
    accused = [f for f in clean if f.verdict in _ALARMS]
    others = strangers(leaky, found)
    sums.update(leaks=len(marks), twins=1, accused=int(bool(accused)), strangers=len(others))
    for name in ("told", "holder", "phase", "line", "start"):
        sums[name] += sum(getattr(mark, name) for mark in marks)
    missed = ", ".join(
        f"{leak.kind.name}: {_lacks(mark)}"
        for leak, mark in zip(leaky.leaks, marks, strict=True)
        if _lacks(mark)
    )
    said = [
        *(f"stranger {_said(f)}" for f in others),
        *(f"twin accused: {_said(f)}" for f in accused),
    ]
    told = f"{sum(m.told for m in marks)} of {len(marks)}"
    return [f"{about}| {told} | {missed} | {'; '.join(said)} |"]


def _lacks(marks: Marks) -> str:
    if not marks.told:
        return "not told"
    return " ".join(
        f"no {n}" for n in ("holder", "phase", "line", "start") if not getattr(marks, n)
    )


def _said(finding: Finding) -> str:
    return f"{finding.verdict} {finding.type} held by {finding.held_by} in {finding.phase}"


def _head(sums: Counter[str]) -> list[str]:
    count = sums["leaks"]
    told = ", ".join(
        f"{name} {sums[name]}" for name in ("told", "holder", "phase", "line", "start")
    )
    return [
        "# Several leaks at once",
        "",
        f"Of {count} leaks: {told}; {sums['accused']} of {sums['twins']} clean twins accused; "
        f"{sums['strangers']} findings about nothing that leaks; {sums['failed']} runs failed.",
        "",
        "| seed | generations | | told | what is missing or wrong | false |",
        "|---|---|---|---|---|---|",
    ]


if __name__ == "__main__":
    main()
