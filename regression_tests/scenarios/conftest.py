"""Whole training runs of the reference trainer, each trained once for all tests that ask."""

from __future__ import annotations

import gc
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("torch")

import leakguard
from leakguard.model import Report, Run
from reference_trainer.config import Config
from reference_trainer.trainer import ERLTrainer

GENERATIONS = 5


@dataclass(frozen=True)
class Trained:
    """One finished training: what the guard recorded, what it says, and what was printed."""

    run: Run
    report: Report
    log: str


def train(out: Path, data: Path, leaks: tuple[str, ...]) -> Trained:
    """Train 16 agents for a few generations on a small market, watched by leakguard."""
    config = Config(
        out=out,
        data_dir=data,
        generations=GENERATIONS,
        leaks=leaks,
        days=200,
        stocks=6,
        context_days=20,
        trading_days=8,
        settlement_days=3,
        validation_days=40,
        hidden=(16, 16),
        batch_size=16,
        gradient_steps=8,
        accumulation_steps=2,
        buffer_capacity=2_000,
        buffer_ready=100,
        plot_every=100,
        progress=False,
    )
    gc.collect()  # trainers of earlier tests are garbage, and watched classes count it
    log = io.StringIO()
    ERLTrainer(config, log=log).train()
    run = leakguard.load(out / "run.jsonl")
    return Trained(run, leakguard.diagnose(run), log.getvalue())


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
