from __future__ import annotations

import gc
import io
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from reference_trainer.agent import DDPGAgent
from reference_trainer.config import Config
from reference_trainer.environment import TradingEnvironment
from reference_trainer.errors import ConfigError
from reference_trainer.leaks import LEAKS, parse_size
from reference_trainer.trainer import ERLTrainer

Trainer = Callable[..., ERLTrainer]
Run = Callable[[ERLTrainer, int], ERLTrainer]
Live = Callable[..., list[int]]
SIZE = 1_000_000

#: What each lasting leak holds after some generations, in bytes, found in the holder it names.
HELD: dict[str, Callable[[ERLTrainer], float]] = {
    "loss-graph": lambda t: (
        sum(_graph_bytes(x) for x in t.population.agents[0].critic_losses)
        + sum(_graph_bytes(x) for x in t.population.agents[0].actor_losses)
    ),
    "episode-history": lambda t: sum(a.nbytes + 120 for a in t.task.eval_env.episode_actions),
    "env-per-episode": lambda t: sum(env.data_array.nbytes for env in t.episode_envs),
    "old-population": lambda t: sum(
        a.stack.actor.extra_state.nbytes for old in t.old_populations for a in old
    ),
    "best-agent-history": lambda t: sum(a.stack.actor.extra_state.nbytes for a in t.best_agents),
    "loss-history": lambda t: sum(42 * len(a.loss_history) for a in t.population.agents),
    "episode-stats": lambda t: sum(42 * len(s["equity"]) for s in t.all_episode_stats),
    "batch-tensors": lambda t: sum(batch.nbytes for batch in t.seen_batches),
    "upload-backlog": lambda t: sum(
        len(content) for _, content in t.uploader.pending_uploads.queue
    ),
}
HOLDERS = (
    "episode_envs", "old_populations", "best_agents", "all_episode_stats", "seen_batches",
)  # fmt: skip


def _graph_bytes(loss: Any) -> int:
    """Bytes of distinct tensors saved in the graph behind a loss."""
    nodes, storages = [loss.grad_fn], {}
    while nodes:
        node = nodes.pop()
        if node is None:
            continue
        nodes += [parent for parent, _ in node.next_functions]
        for name in dir(node):
            saved = getattr(node, name) if name.startswith("_saved") else None
            if isinstance(saved, torch.Tensor):
                storages[saved.untyped_storage().data_ptr()] = saved.untyped_storage().nbytes()
    return sum(storages.values())


@pytest.mark.parametrize("name", sorted(HELD))
def test_a_leak_keeps_about_the_bytes_it_was_asked_for(
    trainer: Trainer, run: Run, name: str
) -> None:
    made = run(trainer(name, leak_size=SIZE, buffer_ready=1), 1)
    one = HELD[name](made)
    run(made, 2)
    assert HELD[name](made) - one == pytest.approx(SIZE, rel=0.15)


@pytest.fixture(scope="module")
def healthy_history(
    tiny_settings: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> list[dict[str, Any]]:
    config = Config(**tiny_settings, out=tmp_path_factory.mktemp("healthy"))
    made = ERLTrainer(config, log=io.StringIO())
    for generation in (1, 2, 3):
        made.run_generation(generation)
    return list(made.history)


@pytest.mark.parametrize("name", sorted(LEAKS))
def test_a_leaking_run_computes_the_same_numbers(
    trainer: Trainer, run: Run, healthy_history: list[dict[str, Any]], name: str
) -> None:
    leaking = run(trainer(name, leak_size=SIZE // 4), 3)
    assert list(leaking.history) == healthy_history


def test_a_healthy_run_has_no_holder(trainer: Trainer, run: Run) -> None:
    made = run(trainer(plot_every=1), 2)
    assert not [name for name in HOLDERS if hasattr(made, name)]
    assert all(type(loss) is float for agent in made.population.agents
               for loss in agent.critic_losses)  # fmt: skip
    assert len(made.task.eval_env.episode_actions) == 11


def test_a_leak_may_have_a_size_of_its_own(trainer: Trainer, run: Run) -> None:
    made = trainer("batch-tensors=2 MB", "episode-history", leak_size=SIZE, buffer_ready=1)
    run(made, 2)
    one = HELD["batch-tensors"](made), HELD["episode-history"](made)
    run(made, 3)
    added = HELD["batch-tensors"](made) - one[0], HELD["episode-history"](made) - one[1]
    assert added == pytest.approx((2 * SIZE, SIZE), rel=0.15)


def test_env_per_episode_adds_one_environment_an_episode(
    trainer: Trainer, run: Run, live: Live
) -> None:
    before = live(TradingEnvironment)[0]
    made, counts = trainer("env-per-episode"), []
    for generation in range(3):
        run(made, generation)
        counts.append(live(TradingEnvironment)[0] - before)
    assert counts == [2, 8, 14]
    assert not np.shares_memory(made.episode_envs[0].data_array, made.task.eval_env.data_array)


def test_old_population_adds_a_population_a_generation(
    trainer: Trainer, run: Run, live: Live
) -> None:
    before = live(DDPGAgent)[0]
    made, counts = trainer("old-population"), []
    for generation in range(3):
        run(made, generation)
        counts.append(live(DDPGAgent)[0] - before)
    assert counts == [7, 13, 19]


def test_env_cycle_is_garbage_that_only_the_collector_frees(trainer: Trainer, run: Run) -> None:
    made = trainer("env-cycle")
    made.generation = 1
    gc.collect()
    gc.disable()
    try:
        env = made.hooks.environment(made.task.eval_env)
        alive = weakref.ref(env)
        del env
        assert alive() is not None
        gc.collect()
        assert alive() is None
    finally:
        gc.enable()


def test_env_data_copy_is_a_private_market_for_each_environment(trainer: Trainer) -> None:
    made = trainer("env-data-copy", leak_size=SIZE)
    copies = [made.task.eval_env.data_array, made.task.val_env.data_array]
    assert not np.shares_memory(*copies)
    assert sum(copy.nbytes for copy in copies) == pytest.approx(SIZE, rel=0.05)


def test_deepcopy_clones_are_gone_when_evolution_ends(
    trainer: Trainer, run: Run, live: Live
) -> None:
    before = live(DDPGAgent)[0]
    made = run(trainer("deepcopy-clone", leak_size=SIZE), 2)
    assert live(DDPGAgent)[0] - before == 7
    assert not [name for name in HOLDERS if hasattr(made, name)]


def test_leaked_figures_stay_with_pyplot(trainer: Trainer, run: Run) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.close("all")
    run(trainer("figures", leak_size=SIZE, plot_every=1), 3)
    figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
    assert len(figures) == 3
    pixels = [figure.canvas.get_width_height() for figure in figures]
    assert 4 * np.prod(pixels[0]) == pytest.approx(SIZE, rel=0.05)
    pyplot.close("all")


def test_buffer_save_spike_leaves_a_file_and_no_memory(trainer: Trainer, run: Run) -> None:
    made = run(trainer("buffer-save-spike"), 1)
    assert (made.checkpoints.folder / "replay_buffer.pkl.gz").stat().st_size > 1_000
    assert not [name for name in HOLDERS if hasattr(made, name)]


def test_backlog_says_how_much_is_pending(trainer: Trainer, run: Run) -> None:
    made = run(trainer("upload-backlog"), 2)
    assert made.uploader.pending > 18
    assert f"Upload status: {made.uploader.pending} pending" in made.log.getvalue()  # type: ignore[attr-defined]


def test_leaks_can_be_combined(trainer: Trainer, run: Run) -> None:
    made = run(trainer("old-population", "env-per-episode"), 1)
    assert len(made.old_populations) == 1
    assert len(made.episode_envs) == 6


@pytest.mark.parametrize(
    ("text", "size"),
    [("20 MB", 20_000_000), ("1.5GB", 1_500_000_000), ("4 KiB", 4096), ("7", 7), ("3 kb", 3000)],
)
def test_sizes_are_read_with_their_units(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["MB", "", "2 MBs", "-1 MB", "1.2.3"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a size"):
        parse_size(text)
