from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from reference_trainer.checkpoint import CheckpointStore, verify
from reference_trainer.config import Config
from reference_trainer.errors import CheckpointError
from reference_trainer.trainer import ERLTrainer
from regression_tests.benchmarks.faults.kills import killed_at, moments, some_of

FILES = "checkpoint|shutil|pathlib"  # where a save touches files

Trainer = Callable[..., ERLTrainer]
Run = Callable[[ERLTrainer, int], ERLTrainer]


def everything(trainer: ERLTrainer) -> list[np.ndarray]:
    networks = trainer.population.stack.networks
    arrays = [m.numpy().copy() for network in networks for m in network.followers()]
    arrays += [network.step.numpy().copy() for network in networks]
    batch = trainer.buffer.sample(2, 16, np.random.default_rng(0))
    arrays += [batch.observation.numpy().copy(), batch.reward.numpy().copy()]
    arrays += [np.array(list(agent.critic_losses)) for agent in trainer.population.agents]
    return arrays


def test_four_generations_equal_two_and_two_after_a_resume(
    trainer: Trainer, run: Run, tmp_path: Path
) -> None:
    straight = run(trainer(out=tmp_path / "a"), 4)
    run(trainer(out=tmp_path / "b"), 2)
    resumed = trainer(out=tmp_path / "b")
    assert resumed.resume() == 2
    run(resumed, 4)
    assert all(map(np.array_equal, everything(straight), everything(resumed)))
    assert list(straight.history) == list(resumed.history)
    assert len(straight.buffer) == len(resumed.buffer) == 200


def test_a_gymnasium_run_resumes_bit_for_bit(trainer: Trainer, run: Run, tmp_path: Path) -> None:
    settings = {"env_id": "Pendulum-v1", "population_size": 2, "elite_fraction": 0.4,
                "random_steps": 300, "buffer_capacity": 700}  # fmt: skip
    straight = run(trainer(out=tmp_path / "a", **settings), 3)
    run(trainer(out=tmp_path / "b", **settings), 1)
    resumed = trainer(out=tmp_path / "b", **settings)
    assert resumed.resume() == 1
    run(resumed, 3)
    assert all(map(np.array_equal, everything(straight), everything(resumed)))
    assert list(straight.history) == list(resumed.history)


def test_resume_needs_no_refill(trainer: Trainer, run: Run) -> None:
    first = run(trainer(), 2)
    again = trainer()
    again.resume()
    assert len(again.buffer) == len(first.buffer) > again.config.buffer_ready


def test_metrics_after_a_resume_are_those_of_an_unbroken_run(
    trainer: Trainer, run: Run, tmp_path: Path
) -> None:
    run(trainer(out=tmp_path / "a"), 4)
    run(trainer(out=tmp_path / "b", checkpoint_every=2), 3)
    resumed = trainer(out=tmp_path / "b")
    assert resumed.resume() == 2
    run(resumed, 4)
    unbroken = (tmp_path / "a" / "metrics.jsonl").read_text()
    assert (tmp_path / "b" / "metrics.jsonl").read_text() == unbroken


def test_only_new_rows_are_written_and_old_segments_are_linked(trainer: Trainer, run: Run) -> None:
    made = run(trainer(keep_checkpoints=3), 3)
    second, third = made.checkpoints.complete()[1:]
    segments = sorted(path.name for path in (second / "buffer").iterdir())
    shared = [name for name in segments if (third / "buffer" / name).exists()]
    assert shared
    for name in shared:
        assert (second / "buffer" / name).samefile(third / "buffer" / name)


def test_segments_of_overwritten_rows_are_dropped(trainer: Trainer, run: Run) -> None:
    made = run(trainer(generations=12), 12)
    latest = made.checkpoints.latest()
    assert latest is not None
    begins = sorted(int(path.stem.split("_")[1]) for path in (latest / "buffer").iterdir())
    assert begins[0] > 0
    assert len(begins) <= 6


def test_rotation_keeps_the_newest(trainer: Trainer, run: Run) -> None:
    made = run(trainer(keep_checkpoints=2), 4)
    assert [path.name for path in made.checkpoints.complete()] == ["gen_000003", "gen_000004"]
    assert (made.checkpoints.folder / "latest").read_text() == "gen_000004\n"


def test_rotation_waits_for_a_folder_that_is_being_read(trainer: Trainer, run: Run) -> None:
    made = trainer(keep_checkpoints=1)
    made.checkpoints.is_leased = lambda path: path.name == "gen_000001"
    run(made, 3)
    assert [path.name for path in made.checkpoints.complete()] == ["gen_000001", "gen_000003"]


def test_interrupted_save_is_swept_and_never_loaded(trainer: Trainer, run: Run) -> None:
    made = run(trainer(), 1)
    torn = made.checkpoints.folder / "gen_000002.tmp"
    torn.mkdir()
    (torn / "manifest.json").write_text("{")
    again = trainer()
    assert again.resume() == 1
    run(again, 2)
    assert not torn.exists()


@pytest.mark.parametrize("again", [False, True], ids=["a new generation", "the same again"])
@pytest.mark.parametrize("kills", [6, pytest.param(100, marks=pytest.mark.heavy)])
def test_killed_at_any_moment_of_a_save_every_checkpoint_that_can_be_seen_is_whole(
    trainer: Trainer, run: Run, tmp_path: Path, kills: int, again: bool
) -> None:
    made = run(trainer(keep_checkpoints=2), 3)
    generation = 3 if again else 4

    def a_copy() -> CheckpointStore:
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        shutil.copytree(made.checkpoints.folder, tmp_path / "copy")
        return CheckpointStore(tmp_path / "copy", keep=2)

    def save(store: CheckpointStore) -> None:
        store.save(generation, made.population, made.buffer, made._state())

    for moment in some_of(moments(partial(save, a_copy()), FILES), kills):
        store = a_copy()
        killed_at(moment, partial(save, store), FILES)
        assert store.complete()
        for path in store.complete():
            verify(path)
        save(store)
        assert store.complete()[-1].name == f"gen_{generation:06d}"
        assert not list(store.folder.glob("*.tmp"))


@pytest.mark.parametrize("name", ["population/agent_3.safetensors", "trainer_state.json"])
def test_damaged_file_is_one_clear_error(trainer: Trainer, run: Run, name: str) -> None:
    made = run(trainer(), 1)
    latest = made.checkpoints.latest()
    assert latest is not None
    content = bytearray((latest / name).read_bytes())
    content[-2] ^= 1
    (latest / name).write_bytes(content)
    again = trainer()
    before = again.population.stack.actor.values.clone()
    with pytest.raises(CheckpointError, match=f"gen_000001 is damaged: {name}") as error:
        again.resume()
    assert "\n" not in str(error.value)
    assert torch.equal(again.population.stack.actor.values, before)


@pytest.mark.parametrize("name", ["best_agent.safetensors", "manifest.json"])
def test_missing_file_is_one_clear_error(trainer: Trainer, run: Run, name: str) -> None:
    made = run(trainer(), 1)
    latest = made.checkpoints.latest()
    assert latest is not None
    (latest / name).unlink()
    with pytest.raises(CheckpointError, match=name):
        trainer().resume()


def test_a_setting_younger_than_the_checkpoint_had_the_effect_of_its_default() -> None:
    stored = Config().algorithm_settings()
    del stored["saturation_penalty"]
    Config(compiled=False).check_settings(stored)
    with pytest.raises(
        CheckpointError, match=r"made with saturation_penalty=0\.0, this run has 0\.5"
    ):
        Config(saturation_penalty=0.5).check_settings(stored)


def test_other_settings_are_refused_before_anything_changes(trainer: Trainer, run: Run) -> None:
    run(trainer(), 1)
    other = trainer(gamma=0.5)
    before = other.population.stack.actor.values.clone()
    with pytest.raises(CheckpointError, match=r"gamma=0.99, this run has 0.5"):
        other.resume()
    assert torch.equal(other.population.stack.actor.values, before)


def test_nothing_in_a_checkpoint_is_a_pickle(trainer: Trainer, run: Run) -> None:
    latest = run(trainer(), 1).checkpoints.latest()
    assert latest is not None
    files = [path for path in latest.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".json", ".safetensors"}
    assert len([path for path in files if path.parent.name != "buffer"]) == 6 + 1 + 2


def test_manifest_lists_every_other_file(trainer: Trainer, run: Run) -> None:
    latest = run(trainer(), 1).checkpoints.latest()
    assert latest is not None
    files = {str(p.relative_to(latest)) for p in latest.rglob("*") if p.is_file()}
    assert files - {"manifest.json"} == set(verify(latest))
    assert json.loads((latest / "trainer_state.json").read_text())["generation"] == 1


def test_a_folder_without_checkpoints_has_no_latest(tmp_path: Path) -> None:
    assert CheckpointStore(tmp_path / "none", keep=1).latest() is None
