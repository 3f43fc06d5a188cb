"""Add a leak of twice the stated sensitivity to calm runs, recorded and simulated: is it told?

A headline says ``growth below N per generation would go undetected``. A leak of twice N, added to
the same run, must be reported::

    python -m regression_tests.benchmarks.silence.sensitivity [--runs 1000] [-o FOLDER]
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from leakguard import diagnose
from leakguard.analysis.case import Case
from leakguard.analysis.sensitivity import least_told
from leakguard.analysis.spacing import evenly_spaced
from leakguard.model import Run
from regression_tests.benchmarks.playing.page import keep_page
from regression_tests.benchmarks.silence.added_leak import simulated, with_leak
from regression_tests.corpus.archive import Files, unpack
from regression_tests.corpus.judge import load

_HEAD = """# A leak of twice the sensitivity, added to calm runs

{runs:,} runs, of which {calm} were called STABLE with a sensitivity. To each of these a leak of
twice that many bytes per generation was added, from its first generation on.

| runs | calm, with a sensitivity | the added leak is told | not told |
|---|---:|---:|---|
"""


def main() -> None:
    """Try all runs, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("-o", "--output", type=Path, default=Path("reports/silence/sensitivity"))
    asked = parser.parse_args()
    recorded = list(unpack())
    with (
        tempfile.TemporaryDirectory() as folder,
        multiprocessing.get_context("fork").Pool(2) as pool,
    ):
        told = list(pool.imap_unordered(partial(_of_record, Path(folder)), recorded))
        told += pool.imap_unordered(_of_seed, range(asked.runs - len(recorded)), chunksize=10)
    keep_page(asked.output / "table.md", _table(told), __spec__.name)


def _of_record(folder: Path, record: tuple[str, Files]) -> tuple[str, str, str | None]:
    name, files = record
    return "recorded", name, _verdict(load(files, folder))


def _of_seed(seed: int) -> tuple[str, str, str | None]:
    return "simulated", f"seed {seed}", _verdict(simulated(seed))


def _verdict(run: Run) -> str | None:
    """Return the verdict on the run with the leak; None if no leak could be added to it."""
    if not run.generations or diagnose(run).verdict != "stable":
        return None
    least = least_told(Case(evenly_spaced(run)))
    return None if least is None else diagnose(with_leak(run, 2 * least)).verdict


def _table(told: list[tuple[str, str, str | None]]) -> str:
    calm = [(kind, name, verdict) for kind, name, verdict in told if verdict is not None]
    return _HEAD.format(runs=len(told), calm=len(calm)) + "\n".join(_rows(told)) + "\n"


def _rows(told: list[tuple[str, str, str | None]]) -> Iterator[str]:
    runs = Counter(kind for kind, _, _ in told)
    verdicts = defaultdict(list)
    for kind, name, verdict in told:
        if verdict is not None:
            verdicts[kind].append((name, verdict))
    for kind, entries in sorted(verdicts.items()):
        missed = [f"{name} ({verdict})" for name, verdict in sorted(entries)
                  if verdict not in ("leak", "suspect")]  # fmt: skip
        found = len(entries) - len(missed)
        yield f"| {kind}, {runs[kind]} | {len(entries)} | {found} | {'; '.join(missed)} |"


if __name__ == "__main__":
    main()
