"""Run a program in a process of its own and keep what was said about its memory."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import leakguard
from leakguard.model import Finding

PATIENCE = 300  # seconds; a run of 60 generations takes about five


@dataclass(frozen=True, slots=True)
class Said:
    """What the guard said about one run.

    Attributes:
        verdict: of the whole report; None where there was none.
        failure: why there is no answer; None when there is one.
    """

    verdict: str | None = None
    findings: tuple[Finding, ...] = ()
    failure: str | None = None

    @property
    def accused(self) -> list[Finding]:
        """Findings that say leak or suspect."""
        return [f for f in self.findings if f.verdict in ("leak", "suspect")]

    @property
    def leaks(self) -> list[Finding]:
        """Findings that say leak."""
        return [f for f in self.findings if f.verdict == "leak"]

    @property
    def told(self) -> str:
        """What was said, in a cell of a table."""
        said = "; ".join(dict.fromkeys(map(_told, self.accused)))
        return self.failure or said or (self.verdict or "nothing").upper()


def type_name(finding: Finding) -> str:
    """Return the last part of the type that a finding names, or nothing."""
    return (finding.type or "").rpartition(".")[2]


def _told(finding: Finding) -> str:
    kind = f"{finding.verdict} {finding.kind}"
    return f"{kind} `{type_name(finding)}`" if finding.type else kind


def listen(command: Sequence[str], run: Path) -> Said:
    """Run a command that writes the run file ``run``, and judge the run."""
    run.unlink(missing_ok=True)
    failure = failure_of(command, run.parent)
    if failure is not None:
        return Said(failure=failure)
    report = leakguard.diagnose(leakguard.load(run))
    return Said(report.verdict, report.findings)


def failure_of(command: Sequence[str], folder: Path) -> str | None:
    """Run a command in a folder; return why it did not end well, None when it did."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"no end within {PATIENCE} s"
    if done.returncode < 0:
        return f"killed by signal {-done.returncode}"
    if done.returncode:
        return f"the program failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}"
    return None
