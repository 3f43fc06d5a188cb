"""What the report of a job says of its children, and the table of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from leakguard.analysis.job import diagnose_job
from leakguard.model import Finding
from leakguard.model.finding import SEVERITY
from leakguard.store import load_job
from regression_tests.benchmarks.job_children.ways import (
    HOLDER,
    WAYS,
    Kind,
    Played,
    Watcher,
    line_made,
)

_TEXT = """\
Each program starts children in one way and runs for {seconds:g} s. In **leak**, one of the
children keeps what it makes (4 MB a second where it does not wait for others), in a list of a
module; in **calm** none does. The parent has a guard that writes into a folder
(`LeakGuard(out=FOLDER)`), or runs under `leakguard run -o FOLDER/`; of `torchrun`, each rank has
the guard, or `torchrun` itself runs under it. The table says what `leakguard report FOLDER`
knows: whether the child that leaks has a row, its verdict, and whether its holder and the line
that makes what is kept are named; what was said of the calm job. A row is right if the child is
told as a leak with holder and line, and the calm job has no leak.
"""
_COLUMNS = ("children", "watched by", "seen", "verdict", "holder", "line", "calm job", "right")


@dataclass(frozen=True, slots=True)
class Seen:
    """What a report says of one program.

    Attributes:
        status: the program's exit status; 0 as without us.
        members: processes with a row.
        is_seen: whether the child that leaks has a row.
        verdict: of that child; of the whole job if none leaks.
        holder, line: of the child's first finding that names what leaks.
    """

    way: str
    watcher: Watcher
    kind: Kind
    status: int
    rounds: int
    members: int
    is_seen: bool
    verdict: str
    holder: str | None
    line: str | None
    accused: str = ""

    @property
    def right(self) -> bool:
        """Whether the leak was told with holder and line, or the calm job was not accused."""
        if self.status:
            return False
        if self.kind == "calm":
            return SEVERITY.get(self.verdict, 0) < SEVERITY["suspect"]  # type: ignore[call-overload]
        named = (self.holder or "").startswith(HOLDER)
        return self.verdict == "leak" and named and f"work.py:{line_made()}" in (self.line or "")


def seen(way: str, watcher: Watcher, kind: Kind, played: Played) -> Seen:
    """Return what the report of a job says of a program that has run."""
    common = way, watcher, kind, played.status, played.rounds
    job = load_job(played.folder)
    if job is None:
        return Seen(*common, 0, False, "no report", None, None)
    report, each = diagnose_job(job)
    if kind == "calm":
        accused = [
            f"{row.label}: {row.what}"
            for row in report.processes
            if SEVERITY[row.verdict] >= SEVERITY["suspect"]
        ]
        count = len(report.processes)
        return Seen(*common, count, True, report.verdict, None, None, "; ".join(accused))
    own = next((one for one in each if one.run.info.pid == played.leaking), None)
    if own is None:
        return Seen(*common, len(each), False, "not seen", None, None)
    finding = next(filter(_names, own.findings), None) or next(iter(own.findings), None)
    holder = None if finding is None else finding.held_by
    line = None if finding is None else finding.created_at
    return Seen(*common, len(each), True, own.verdict, holder, line)


def _names(finding: Finding) -> bool:
    return (finding.held_by or "").startswith(HOLDER)


def page(rows: Sequence[Seen], seconds: float) -> str:
    """Return the table as Markdown."""
    pairs: dict[tuple[str, Watcher], dict[Kind, Seen]] = {}
    for row in rows:
        pairs.setdefault((row.way, row.watcher), {})[row.kind] = row
    whole = [pair for pair in pairs.values() if len(pair) == 2]
    right = sum(all(row.right for row in pair.values()) for pair in whole)
    head = f"{len(whole)} rows, {right} as they should be, on {os.cpu_count()} cores.\n\n"
    columns = f"| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}\n"
    lines = "".join(map(_line, whole))
    return head + _TEXT.format(seconds=seconds) + "\n" + columns + lines


def _line(pair: dict[Kind, Seen]) -> str:
    leak, calm = pair["leak"], pair["calm"]
    cells = (
        WAYS[leak.way],
        "a guard" if leak.watcher == "guard" else "`leakguard run`",
        "yes" if leak.is_seen else "no",
        leak.verdict + (f", exit status {leak.status}" if leak.status else ""),
        leak.holder or "",
        leak.line or "",
        calm.verdict + (f" ({calm.accused})" if calm.accused else ""),
        "yes" if leak.right and calm.right else "no",
    )
    return f"| {' | '.join(cells)} |\n"
