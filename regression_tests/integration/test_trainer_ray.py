"""The population plays on a Ray of this machine, and no number changes."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
ray = pytest.importorskip("ray")

from small_run import small_config

from reference_trainer.errors import ConfigError
from reference_trainer.trainer import ERLTrainer


def test_a_ray_cluster_changes_no_number(tmp_path: Path) -> None:
    alone = ERLTrainer(small_config(tmp_path, "a", noise="ou"), log=io.StringIO())
    helped = ERLTrainer(
        small_config(tmp_path, "b", noise="ou", engine="ray", workers=2), log=io.StringIO()
    )
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
        ERLTrainer(small_config(tmp_path, engine="ray", leaks=("figures",)), log=io.StringIO())
