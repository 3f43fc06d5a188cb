"""The population plays on a Ray of this machine, and no number changes."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
ray = pytest.importorskip("ray")

from reference_trainer.config import Config
from reference_trainer.errors import ConfigError
from reference_trainer.trainer import ERLTrainer


def config(folder: Path, name: str, **changes: Any) -> Config:
    return Config(
        out=folder / name, data_dir=folder / "data", days=200, stocks=6, context_days=20,
        trading_days=8, settlement_days=3, validation_days=40, population_size=4, hidden=(8, 8),
        batch_size=8, gradient_steps=2, buffer_capacity=200, buffer_ready=40, noise="ou",
        progress=False, **changes,
    )  # fmt: skip


def test_a_ray_cluster_changes_no_number(tmp_path: Path) -> None:
    alone = ERLTrainer(config(tmp_path, "a"), log=io.StringIO())
    helped = ERLTrainer(config(tmp_path, "b", engine="ray", workers=2), log=io.StringIO())
    try:
        for generation in (1, 2):
            alone.run_generation(generation)
            helped.run_generation(generation)
    finally:
        helped.close()
    assert list(alone.history) == list(helped.history)
    genomes = [t.population.stack.actor.values.numpy() for t in (alone, helped)]
    assert np.array_equal(*genomes)
    for name, column in alone.buffer.columns.items():
        assert np.array_equal(column, helped.buffer.columns[name])
    assert not ray.is_initialized()


def test_leaks_and_ray_are_refused_together(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--leak without --workers"):
        ERLTrainer(config(tmp_path, "a", engine="ray", leaks=("figures",)), log=io.StringIO())
