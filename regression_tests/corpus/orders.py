"""Diagnoses recorded runs with the tables of the judgement in other orders: none may decide."""

from __future__ import annotations

import multiprocessing
import random
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from leakguard.analysis import diagnosis, holders, sources
from leakguard.analysis.claims import memory, metrics, types
from leakguard.model import Run
from regression_tests.corpus.archive import Files
from regression_tests.corpus.judge import PROCESSES, judged, load
from regression_tests.corpus.keys import Key

#: Tables whose entries say themselves how strong they are.
BY_STRENGTH = ((types, "CLAIMS"), (metrics, "CLAIMS"), (memory, "CLAIMS"), (holders, "SIGNS"))
_TABLES = (*BY_STRENGTH, (sources, "SOURCES"))


@contextmanager
def in_order(seed: int) -> Iterator[None]:
    """Put all tables into the order of a seed while the block runs."""
    chance = random.Random(seed)
    usual = [(module, name, getattr(module, name)) for module, name in _TABLES]
    try:
        for module, name, table in usual:
            setattr(module, name, tuple(chance.sample(table, len(table))))
        yield
    finally:
        for module, name, table in usual:
            setattr(module, name, table)


def changed(key: Key, run: Run, seeds: Iterable[int]) -> list[int]:
    """Return the seeds of the orders in which another report is made of a run."""
    usual = judged(key, diagnosis.diagnose(run))
    found = []
    for seed in seeds:
        with in_order(seed):
            if judged(key, diagnosis.diagnose(run)) != usual:
                found.append(seed)
    return found


def changes(
    runs: Iterable[tuple[Key, Files]], orders: int, each: int
) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield for each run, by name, the orders that change its report.

    Each run is judged in ``each`` of the orders, one after the other's, so that all are met.
    """
    told = (
        (key, files, [(number * each + turn) % orders for turn in range(each)])
        for number, (key, files) in enumerate(runs)
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        multiprocessing.get_context("fork").Pool(PROCESSES) as pool,
    ):
        yield from pool.imap_unordered(partial(_changed, Path(folder)), told)


def _changed(folder: Path, told: tuple[Key, Files, Sequence[int]]) -> tuple[str, Sequence[int]]:
    key, files, seeds = told
    return key.run, changed(key, load(files, folder), seeds)
