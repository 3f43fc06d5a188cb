"""Whole training runs of the reference trainer, each trained once for all tests that ask."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("torch")

from filelock import FileLock

import leakguard
from leakguard.model import Report, Run

TRAINING = Path(__file__).with_name("training.py")


@dataclass(frozen=True)
class Trained:
    """One finished training: what the guard recorded, what it says, and what was printed."""

    run: Run
    report: Report
    log: str


def train(out: Path, data: Path, leaks: tuple[str, ...]) -> None:
    """Train in a process of its own; what it leaves is in ``out`` once it is done."""
    unfinished = out.with_name(out.name + "-unfinished")
    subprocess.run([sys.executable, TRAINING, unfinished, data, *leaks], check=True, timeout=280)
    unfinished.rename(out)


def read(out: Path) -> Trained:
    """Read what a training left."""
    run = leakguard.load(out / "run.jsonl")
    return Trained(run, leakguard.diagnose(run), (out / "training.log").read_text())


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Trained]:
    """Return a function that trains with the given leaks, once for all workers of a session."""
    market = tmp_path_factory.mktemp("market")
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    @cache
    def training(*leaks: str) -> Trained:
        out = shared / f"trained-{'-'.join(leaks) or 'healthy'}"
        with FileLock(f"{out}.lock"):
            if not out.exists():
                train(out, market, leaks)
        return read(out)

    return training
