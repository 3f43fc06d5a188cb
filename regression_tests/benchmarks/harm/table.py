"""The table of the laboratory, in Markdown and JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict

from regression_tests.benchmarks.harm.comparison import Row

LEGEND = """
Each program is played alone, without leakguard, and watched: through the API (`api`), under
`leakguard run` (`run`), and with a guard that `LEAKGUARD=off` switches off (`off`). **Same** says
that exit status, standard output and error (the guard's own report left out), the order of the
program's events, the files it wrote and the processes it left behind are equal, and that no number
is above its limit. Numbers are those of the watched program over those of the one alone, medians:
highest resident size of the process, highest proportional size of it and its descendants, CPU
seconds of all of them, seconds until its end without those in which its main thread waited for a
core (`queued_s`), and the longest time in milliseconds for which a second thread stood still. What
the clock says is **not known** where the watched program waited so for a quarter of its time.
"""
_NUMBERS = {"peak_mb": "peak, MB", "tree_mb": "tree, MB", "cpu_s": "CPU, s", "wall_s": "wall, s",
            "longest_stop_ms": "stop, ms"}  # fmt: skip
_COLUMNS = ("program", "kind", "how", "looks", "verdict", *_NUMBERS.values(), "its own numbers")
HEAD = f"| {' | '.join(_COLUMNS)} |\n{'|---' * len(_COLUMNS)}|"


def page(rows: Sequence[Row], facts: str) -> str:
    """Return the table and what it sums up to."""
    harmed = sum(row.is_harmed for row in rows)
    same = sum(row.verdict.startswith("same") for row in rows)
    summed = (
        f"{len(rows)} rows: {same} the same, {harmed} harmed, "
        f"{len(rows) - same - harmed} not played or not looked at."
    )
    return "\n".join([f"{summed} {facts}", LEGEND, HEAD, *map(_line, rows), ""])


def facts(loaded: bool, threads: int) -> str:
    """Return in which circumstances the table is made."""
    beside = "beside two busy processes" if loaded else "with no load of the laboratory's own"
    told = [f"{name}={text}" for name, text in os.environ.items() if name.startswith("LEAKGUARD")]
    settings = f" {', '.join(told)}." if told else ""
    return (
        f"Made on {os.cpu_count()} cores, {beside}, under a load of {os.getloadavg()[1]:.1f}; "
        f"OMP_NUM_THREADS={threads}.{settings}"
    )


def as_json(rows: Sequence[Row]) -> str:
    """Return the same for programs."""
    return json.dumps([asdict(row) | {"verdict": row.verdict} for row in rows], indent=1) + "\n"


def from_json(text: str) -> list[Row]:
    """Read rows back."""
    rows = []
    for told in json.loads(text):
        told.pop("verdict")
        lists = {name: tuple(told.pop(name, ())) for name in ("harms", "excess", "unknown")}
        rows.append(Row(**told, **lists))
    return rows


def _line(row: Row) -> str:
    before, after = row.unwatched or {}, row.watched or {}
    numbers = [_pair(before, after, name) for name in _NUMBERS]
    known = (*_NUMBERS, "peak_mb")
    own = [f"{name} {_pair(before, after, name)}" for name in before if name not in known]
    how = f"{row.how}, {row.python}" + (f", {row.times} times" if row.times > 1 else "")
    verdict = row.verdict.replace("harmed", "**harmed**", 1) if row.is_harmed else row.verdict
    cells = (f"`{row.name}`", row.kind, how, str(row.looks), verdict, *numbers, "; ".join(own))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _pair(before: dict[str, float], after: dict[str, float], name: str) -> str:
    if name not in before or name not in after:
        return ""
    ratio = f" ({after[name] / before[name]:.2f})" if before[name] else ""
    return f"{after[name]:.3g} / {before[name]:.3g}{ratio}"
