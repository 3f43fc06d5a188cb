"""What was said about the memory of a program that was played."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import leakguard
from leakguard.model import Finding
from regression_tests.benchmarks.packages.environment import Unbuildable
from regression_tests.benchmarks.playing.entry import Entry
from regression_tests.benchmarks.playing.player import Player


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


def listen(player: Player, entry: Entry) -> Said:
    """Play a program and judge its run.

    Raises:
        Unbuildable: its environment cannot be made.
    """
    run = played(player, entry)
    if isinstance(run, str):
        return Said(failure=run)
    report = leakguard.diagnose(leakguard.load(run))
    return Said(report.verdict, report.findings)


def played(player: Player, entry: Entry) -> Path | str:
    """Return what a program wrote, or why it did not.

    Raises:
        Unbuildable: its environment cannot be made.
    """
    (playing,) = player.play([entry])
    if playing.unplayable:
        raise Unbuildable(playing.failure)
    run = player.run_of(entry)
    return playing.failure or (run if run is not None else "it wrote no run")
