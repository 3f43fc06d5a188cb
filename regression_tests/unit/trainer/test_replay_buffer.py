from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from reference_trainer.data.panel import NormalizationStats
from reference_trainer.data.synthetic import synthetic_market
from reference_trainer.environment import TradingEnvironment, TradingRules
from reference_trainer.observation import MarketView
from reference_trainer.replay_buffer import ReplayBuffer, Step
from reference_trainer.state_storage import (
    DensePanelStates,
    SparsePanelStates,
    StateStorage,
    VectorStates,
)

STOCKS = 6


def vector_buffer(capacity: int = 20, rows: int = 30) -> ReplayBuffer:
    return ReplayBuffer(capacity, VectorStates(rows, 1, 1), rows, gamma=0.5)


def add_episode(buffer: ReplayBuffer, states: list[float], terminated: bool = True) -> None:
    """Rewards equal the state they were earned in."""
    buffer.begin(np.array([states[0]]), {})
    for index, (state, following) in enumerate(itertools.pairwise(states)):
        over = terminated and index == len(states) - 2
        buffer.add(Step(np.array([state]), state, over, np.array([following]), {}))


def trading(layout: str) -> tuple[TradingEnvironment, StateStorage]:
    data = synthetic_market(80, STOCKS, 1)[0]
    stats = NormalizationStats(data.mean((0, 1)), data.std((0, 1)), 0, 80)
    view = MarketView(data, stats, lags=(0, 2))
    env = TradingEnvironment(
        data, np.arange(80), stats, 10, 26, 20, view=view, rules=TradingRules(max_positions=3)
    )
    if layout == "sparse":
        return env, SparsePanelStates(100, view, STOCKS, 3)
    return env, DensePanelStates(100, view, STOCKS)


@pytest.mark.parametrize("layout", ["sparse", "dense"])
def test_indices_rebuild_the_observations_bit_for_bit(layout: str) -> None:
    env, storage = trading(layout)
    rng = np.random.default_rng(0)
    observation, info = env.reset(seed=0)
    storage.write_state(0, observation, info)
    seen = [observation]
    for row in range(1, 17):
        observation, _, _, _, info = env.step(rng.uniform(-1, 1, STOCKS))
        storage.write_state(row, observation, info)
        seen.append(observation)
    rebuilt = np.empty((17, storage.observation_size), np.float32)
    storage.read_states(np.arange(17), rebuilt)
    assert np.array_equal(rebuilt, np.stack(seen))


def test_sparse_actions_keep_what_the_environment_uses() -> None:
    _, storage = trading("sparse")
    storage.write_action(0, np.array([-1, 0.5, -1, 0.25, -1, 0.75]))
    actions = np.empty((1, STOCKS), np.float32)
    storage.read_actions(np.array([0]), actions)
    assert actions[0].tolist() == [-1, 0.5, -1, 0.25, -1, 0.75]


@pytest.mark.parametrize(("layout", "limit"), [("sparse", 150), ("dense", 2_800)])
def test_a_transition_of_669_stocks_is_small(layout: str, limit: int) -> None:
    stats = NormalizationStats(np.zeros(9, np.float32), np.ones(9, np.float32), 0, 1)
    view = MarketView(np.zeros((4, 669, 9), np.float32), stats)
    rows = 10
    storage: StateStorage = (
        SparsePanelStates(rows, view, 669, 16)
        if layout == "sparse"
        else DensePanelStates(rows, view, 669)
    )
    assert ReplayBuffer(rows, storage, rows, gamma=0.99).bytes_per_transition <= limit


def test_length_counts_transitions_and_stops_at_capacity() -> None:
    buffer = vector_buffer(capacity=20, rows=40)
    lengths = []
    for _ in range(8):
        add_episode(buffer, [1.0, 2.0, 3.0, 4.0])
        lengths.append(len(buffer))
    assert lengths == [3, 6, 9, 12, 15, 18, 20, 20]


def test_only_the_newest_transitions_can_be_sampled() -> None:
    buffer = vector_buffer(capacity=6, rows=40)
    for start in range(0, 100, 10):
        add_episode(buffer, [start, start + 1, start + 2, start + 3])
    batch = buffer.sample(1, 200, np.random.default_rng(0))
    assert set(batch.observation.view(-1).tolist()) == {80, 81, 82, 90, 91, 92}


def test_samples_may_be_of_the_last_few_transitions() -> None:
    buffer, rng = vector_buffer(), np.random.default_rng(0)
    add_episode(buffer, [float(value) for value in range(16)])

    def states(newest: int) -> set[float]:
        batch = buffer.sample(1, 200, rng, newest=newest)
        return set(batch.observation.flatten().tolist())

    assert states(3) == {12.0, 13.0, 14.0}
    assert states(40) == {float(value) for value in range(15)}


def test_a_ring_that_runs_out_of_rows_forgets_instead_of_mixing_episodes() -> None:
    buffer = vector_buffer(capacity=20, rows=11)
    for start in range(0, 1000, 10):
        add_episode(buffer, [start, start + 1])
        batch = buffer.sample(1, 50, np.random.default_rng(start))
        assert torch.equal(batch.next_observation, batch.observation + 1)
    assert len(buffer) == 5


def test_reward_action_and_next_state_belong_together() -> None:
    buffer = vector_buffer(capacity=50, rows=80)
    for start in range(0, 90, 10):
        add_episode(buffer, [start, start + 1, start + 2, start + 3])
    batch = buffer.sample(2, 64, np.random.default_rng(0))
    assert torch.equal(batch.reward.view(-1), batch.observation.view(-1))
    assert torch.equal(batch.action, batch.observation)
    assert torch.equal(batch.next_observation, batch.observation + 1)


def test_terminated_steps_discount_to_nothing_and_truncated_ones_do_not() -> None:
    ended, cut = vector_buffer(), vector_buffer()
    add_episode(ended, [0.0, 1.0, 2.0], terminated=True)
    add_episode(cut, [0.0, 1.0, 2.0], terminated=False)
    rng = np.random.default_rng(0)
    for buffer, last in ((ended, 0.0), (cut, 0.5)):
        batch = buffer.sample(1, 64, rng)
        by_state = dict(zip(batch.observation.view(-1).tolist(), batch.discount.view(-1).tolist(),
                            strict=True))  # fmt: skip
        assert by_state == {0.0: 0.5, 1.0: last}


def test_batches_reuse_their_memory() -> None:
    buffer = vector_buffer()
    add_episode(buffer, [0.0, 1.0, 2.0])
    rng = np.random.default_rng(0)
    first, second = buffer.sample(1, 8, rng), buffer.sample(1, 8, rng)
    assert first.observation.data_ptr() == second.observation.data_ptr()


def test_empty_buffer_refuses_to_sample() -> None:
    with pytest.raises(ValueError, match="empty"):
        vector_buffer().sample(1, 4, np.random.default_rng(0))


def test_restored_counters_find_the_same_transitions() -> None:
    buffer, twin = vector_buffer(capacity=9, rows=14), vector_buffer(capacity=9, rows=14)
    for start in range(0, 70, 10):
        add_episode(buffer, [start, start + 1, start + 2, start + 3])
    for name, column in buffer.columns.items():
        twin.columns[name][:] = column
    twin.restore(buffer.state())
    one = buffer.sample(2, 32, np.random.default_rng(5))
    two = twin.sample(2, 32, np.random.default_rng(5))
    assert torch.equal(one.observation, two.observation)
    assert torch.equal(one.next_observation, two.next_observation)


def test_critics_see_scaled_rewards() -> None:
    plain, scaled = vector_buffer(), vector_buffer()
    scaled.reward_scale = 0.1
    for buffer in (plain, scaled):
        add_episode(buffer, [1.0, 2.0, 3.0, 4.0])
    batches = [buffer.sample(1, 8, np.random.default_rng(0)) for buffer in (plain, scaled)]
    assert torch.allclose(0.1 * batches[0].reward, batches[1].reward)
    assert torch.equal(batches[0].discount, batches[1].discount)
