"""What a guard says on the screen when its run is over."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from leakguard.model import Report
from leakguard.model.finding import SEVERITY

_WIDEST = 100  # columns; longer lines are hard to read


def show_end_report(report: Report, out: Path | str | None) -> None:
    """Write the short report to standard error, in one piece: one line where nothing leaks.

    Of the processes of one training the first speaks for all that have nothing to tell.
    """
    from leakguard.render.brief import brief

    telling = SEVERITY[report.verdict] >= SEVERITY["suspect"]
    info = report.run.info
    if sys.stderr is None or ((info.rank or (info.job and info.role)) and not telling):
        return
    width = min(shutil.get_terminal_size((80, 24)).columns, _WIDEST)
    lines = [brief(report, width), *([_next_step(out)] if telling else [])]
    text = "\n".join(lines) + "\n"
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    sys.stderr.write(text.encode(encoding, "replace").decode(encoding))
    sys.stderr.flush()


def _next_step(out: Path | str | None) -> str:
    if out is None:
        return '  Evidence: LeakGuard(out="run.jsonl") keeps it; then leakguard report run.jsonl'
    return f"  Evidence: leakguard report {out}"
