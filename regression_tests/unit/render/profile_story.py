"""A report with nested holders and births, told by hand, for the formats of profiles."""

from __future__ import annotations

from dataclasses import replace

import report_stories as stories

from leakguard.model import Birthplace, Births, Holder, Hop, Report

BEST = "__main__.best[*]"
_TO_BEST = (Hop("__main__", "dict"), Hop(".best", "list"), Hop("[*]", "app.Rollout"))
HOLDERS = (
    Holder(BEST, "app.Rollout", 16, retained_bytes=9_000, trace=_TO_BEST),
    Holder(f"{BEST}.rewards[*]", "float", 800, retained_bytes=8_500,
           trace=(*_TO_BEST, Hop(".rewards", "list"), Hop("[*]", "float"))),
    Holder("__main__.log[*]", "bytes", 20, retained_bytes=700),
    Holder("sys.modules[*]", "module", 300),
)  # fmt: skip
PLACES = (
    Birthplace("evaluate", False, 9_100.4, 10.0, 17.2, 5, "train.py:16", "evaluate",
               stack=("train.py:8 in __init__", "train.py:16 in evaluate", "train.py:28")),
    Birthplace("", True, 1_000.0, 10.0, 2.0, 1),
)  # fmt: skip
FINDING = replace(
    stories.ENV_LEAK, held_by=BEST, type="app.Rollout", phase="evaluate",
    bytes_per_generation=562.5, created_at="train.py:16 in evaluate",
)  # fmt: skip


def report(holders=HOLDERS, places=PLACES, findings=(FINDING,)) -> Report:
    """Return a report whose last look has these holders and births."""
    told = stories.healthy()
    *earlier, last = told.run.snapshots
    born = Births(1e4, 10.0, 1.0, 512.0, places)
    last = replace(last, holders=holders, births=born, seconds=300.5)
    run = replace(told.run, snapshots=(*earlier, last))
    return replace(told, run=run, findings=findings, verdict="leak")
