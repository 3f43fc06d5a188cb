"""Write what is read of pasted logs: ``python -m regression_tests.benchmarks.textlog.formats``."""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from leakguard.analysis import diagnose
from leakguard.model import Run
from leakguard.model.units import format_bytes, format_change
from leakguard.store import load_runs
from regression_tests.benchmarks.textlog.pasted_logs import FORMATS, Pasted, calm, leaking

COLUMNS = ("format", "log", "series", "samples", "right", "first to last", "gains a sample", "read",
           "verdict")  # fmt: skip
HEADING = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n"


def rows(folder: Path, seed: int) -> Iterator[str]:
    """Yield a line for each series of each log, the leaking one before its calm twin."""
    for name, make in FORMATS.items():
        for curve in (leaking, calm):
            pasted = make(random.Random(f"{name} {seed}"), curve)
            path = folder / ("pasted.csv" if "CSV" in name else "pasted.log")
            path.write_text(pasted.text, encoding="utf-8")
            for run in load_runs(path):
                yield f"| {name} | {curve.__name__} | {_row(run, pasted)} |\n"


def _row(run: Run, pasted: Pasted) -> str:
    who = run.info.role
    values, rate = pasted.series[who], pasted.rates.get(who)
    read = [s.metrics.get("rss", s.metrics.get("gpu_used", 0)) for s in run.generation_ends()]
    same = sum(abs(a - b) <= 1 for a, b in zip(read, values, strict=False))
    report = diagnose(run)
    found = report.findings[0].bytes_per_generation if report.findings else None
    return " | ".join(
        (
            who or "",
            str(len(values)),
            f"{same} of {len(read)}",
            f"{format_bytes(values[0])} to {format_bytes(values[-1])}",
            "" if rate is None else format_change(rate),
            "" if found is None else format_change(found),
            report.verdict,
        )
    )


def main() -> None:
    """Make the logs in a temporary folder, read and judge them, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=31_000)
    parser.add_argument("-o", "--out", type=Path, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = HEADING + "".join(rows(Path(folder), arguments.seed))
    arguments.out.mkdir(parents=True, exist_ok=True)
    said = (
        "Logs as people paste them, made anew from a seed that took no part in making the reader; "
        "of each format one that leaks and its calm twin. `right` says how many samples were read "
        "as they were printed, `gains a sample` what was put in, `read` what the report tells "
        "(a step, where the log counts steps). From outside no log names what grows, so `suspect` "
        "is the most that can be said.\n\n"
    )
    (arguments.out / "table.md").write_text(said + table, encoding="utf-8")


if __name__ == "__main__":
    main()
