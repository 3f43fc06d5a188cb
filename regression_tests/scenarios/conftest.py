"""Whole training runs of the reference trainer, each trained once for all tests that ask."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("torch")

import leakguard
from leakguard.model import Report, Run

TRAINING = Path(__file__).with_name("training.py")


@dataclass(frozen=True)
class Trained:
    """One finished training: what the guard recorded, what it says, and what was printed."""

    run: Run
    report: Report
    log: str


def train(out: Path, data: Path, leaks: tuple[str, ...]) -> Trained:
    """Train in a process of its own and read what it left."""
    subprocess.run([sys.executable, TRAINING, out, data, *leaks], check=True, timeout=280)
    run = leakguard.load(out / "run.jsonl")
    return Trained(run, leakguard.diagnose(run), (out / "training.log").read_text())


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Trained]:
    """Return a function that trains with the given leaks, once a session for each choice."""
    market = tmp_path_factory.mktemp("market")
    done: dict[tuple[str, ...], Trained] = {}

    def training(*leaks: str) -> Trained:
        if leaks not in done:
            out = tmp_path_factory.mktemp("-".join(leaks) or "healthy")
            done[leaks] = train(out, market, leaks)
        return done[leaks]

    return training
