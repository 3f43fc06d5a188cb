from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from reference_trainer.trainer import ERLTrainer

pytest.importorskip("tensorboard")
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

Trainer = Callable[..., ERLTrainer]
Run = Callable[[ERLTrainer, int], ERLTrainer]


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    found = EventAccumulator(str(folder)).Reload()
    return {
        name: [(event.step, event.value) for event in found.Scalars(name)]
        for name in found.Tags()["scalars"]
    }


def test_numbers_of_each_generation_are_scalars(trainer: Trainer, run: Run, tmp_path: Path) -> None:
    made = run(trainer(tensorboard=tmp_path / "tb"), 3)
    made.close()
    found = scalars(tmp_path / "tb")
    for name in ("fitness_mean", "critic_loss", "env_steps"):
        expected = [(r["generation"], r[name]) for r in made.history if r.get(name) is not None]
        assert found[name] == [(step, pytest.approx(value)) for step, value in expected]
    assert "made_by" not in found


def test_a_resumed_run_writes_no_generation_twice(
    trainer: Trainer, run: Run, tmp_path: Path
) -> None:
    first = run(trainer(tensorboard=tmp_path / "tb", checkpoint_every=2), 3)
    first.close()
    again = trainer(tensorboard=tmp_path / "tb", checkpoint_every=2)
    assert again.resume() == 2
    run(again, 4)
    again.close()
    assert [step for step, _ in scalars(tmp_path / "tb")["env_steps"]] == [1, 2, 3, 4]


def test_without_the_option_tensorboard_stays_away(trainer: Trainer) -> None:
    assert trainer().metrics.scalars is None
