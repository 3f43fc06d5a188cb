"""Diagnoses recorded runs and holds what is said of each against its key."""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import leakguard
from leakguard.model import Finding, Report, Run
from regression_tests.benchmarks.leakbench.score import Case, Marks, marks_of, said_by, strangers
from regression_tests.corpus.archive import Files, unpack
from regression_tests.corpus.keys import Key

PROCESSES = 2
_NOTHING = "-"


@dataclass(frozen=True, slots=True)
class Judged:
    """What is said of one run, and how much of it is right.

    Attributes:
        run: the run's name.
        verdict: the report's, or why there is none.
        findings: each finding in a line, worst first, as the report has them.
        cleared: what grew and is no leak, with its pattern.
        marks: of each leak that the key knows.
        accused: how many findings accuse what does not leak.
    """

    run: str
    verdict: str
    findings: tuple[str, ...]
    cleared: tuple[str, ...]
    marks: tuple[Marks, ...]
    accused: int

    @property
    def group(self) -> str:
        """The name of the set."""
        return self.run.partition("/")[0]


def judge(runs: Iterable[tuple[Key, Files]], processes: int = PROCESSES) -> Iterator[Judged]:
    """Yield what is said of each run, as they come ready."""
    with (
        tempfile.TemporaryDirectory() as folder,
        multiprocessing.get_context("fork").Pool(processes) as pool,
    ):
        yield from pool.imap_unordered(partial(_judged, Path(folder)), runs)


def _judged(folder: Path, told: tuple[Key, Files]) -> Judged:
    key, files = told
    try:
        return judged(key, leakguard.diagnose(load(files, folder)))
    except Exception as error:  # no answer is an answer, and the table says it
        return without_report(key, error)


def load(files: Files, folder: Path) -> Run:
    """Read a run from the bytes of its files, by way of a folder."""
    with tempfile.TemporaryDirectory(dir=folder) as here:
        paths = [Path(here) / name for name in files]
        for path, text in zip(paths, files.values(), strict=True):
            path.write_bytes(text)
        return leakguard.load(paths[0] if len(paths) == 1 else here)


def loaded(names: Container[str]) -> Iterator[tuple[str, Run]]:
    """Yield the recorded runs of these names, read."""
    with tempfile.TemporaryDirectory() as folder:
        yield from ((run, load(its, Path(folder))) for run, its in unpack() if run in names)


def judged(key: Key, report: Report) -> Judged:
    """Hold a report against the key."""
    said = tuple(map(said_by, report.findings))
    case = Case("leakguard", key.planted, bool(key.truths), said, None, None, report.verdict)
    return Judged(
        key.run,
        report.verdict,
        tuple(map(told_finding, report.findings)),
        tuple(sorted(f"{one.metric}: {one.pattern}" for one in report.cleared)),
        tuple(marks_of(case)),
        len(strangers(case) if key.truths else case.alarms),
    )


def without_report(key: Key, error: Exception) -> Judged:
    """Return the row of a run that could not be diagnosed."""
    case = Case("leakguard", key.planted, bool(key.truths), (), None, repr(error))
    return Judged(key.run, f"fails: {error!r}", (), (), tuple(marks_of(case)), 0)


def told_finding(finding: Finding) -> str:
    """Return what a finding says in one line: what, held by whom, in which phase, since, where."""
    f = finding
    parts = (
        f"{f.verdict} {f.kind} {f.type or _NOTHING}",
        f"held by {f.held_by or _NOTHING}",
        f"in {f.phase or _NOTHING}",
        f"since {_NOTHING if f.started_at is None else f.started_at}",
        f"at {f.created_at or _NOTHING}",
    )
    return ", ".join(parts)
