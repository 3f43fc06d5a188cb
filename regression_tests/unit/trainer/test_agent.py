"""An agent: its clone, its noise, and its bounded memory of losses."""

from __future__ import annotations

import sys
from collections import deque

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_stacks import make_batch, make_stack

from reference_trainer.agent import DDPGAgent, LossRing


def make_agent() -> DDPGAgent:
    return DDPGAgent(make_stack(1), noise_scale=0.1)


def test_clone_is_independent_and_complete() -> None:
    agent = make_agent()
    agent.update(make_batch(1))
    copy = agent.clone()
    pairs = list(zip(agent.stack.networks, copy.stack.networks, strict=True))
    assert all(
        torch.equal(a, b)
        for one, two in pairs
        for a, b in zip(one.followers(), two.followers(), strict=True)
    )
    assert list(copy.critic_losses) == list(agent.critic_losses)
    kept = copy.stack.actor.values.clone()
    agent.update(make_batch(1))
    assert torch.equal(copy.stack.actor.values, kept)


def test_updating_one_agent_leaves_its_neighbours_alone() -> None:
    stack = make_stack()
    agent = DDPGAgent(stack.view(1, 2), noise_scale=0.1)
    before = stack.actor.values.clone()
    agent.update(make_batch(1), accumulate=2)
    assert torch.equal(stack.actor.values[[0, 2]], before[[0, 2]])
    assert not torch.equal(stack.actor.values[1], before[1])


def test_loss_history_is_bounded() -> None:
    agent = DDPGAgent(make_stack(1), noise_scale=0.1, loss_history=5)
    for _ in range(9):
        agent.update(make_batch(1))
    assert len(agent.critic_losses) == len(agent.actor_losses) == 5


def test_noisy_actions_stay_inside_the_bounds() -> None:
    agent = DDPGAgent(make_stack(1), noise_scale=50.0)
    play = agent.exploring(np.random.default_rng(0))
    actions = [play(np.ones(4, np.float32)) for _ in range(20)]
    assert np.abs(actions).max() <= 1.0


def test_action_without_noise_is_the_policy() -> None:
    agent, observation = make_agent(), np.ones(4, np.float32)
    assert np.array_equal(agent.act(observation), agent.act(observation))


def test_noise_scales_with_its_scale_and_has_no_memory() -> None:
    def noise(scale: float) -> np.ndarray:
        agent, rng = DDPGAgent(make_stack(1), noise_scale=scale), np.random.default_rng(0)
        play, state = agent.exploring(rng), np.ones(4, np.float32)
        return np.array([play(state) - agent.act(state) for _ in range(500)])

    assert noise(0.02).std() == pytest.approx(2 * noise(0.01).std(), rel=1e-3)
    series = noise(0.02)[:, 0]
    assert abs(np.corrcoef(series[1:], series[:-1])[0, 1]) < 0.1


@given(st.integers(1, 7), st.lists(st.floats(-1e9, 1e9), max_size=30))
def test_ring_keeps_what_a_bounded_deque_keeps(capacity: int, losses: list[float]) -> None:
    ring, kept = LossRing(capacity), deque[float](maxlen=capacity)
    ring.extend(losses)
    kept.extend(losses)
    assert list(ring) == list(kept)
    assert len(ring) == len(kept)
    assert not kept or ring[-1] == kept[-1]


def test_filling_takes_no_memory() -> None:
    ring = LossRing(1000)
    for number in range(100):
        ring.append(number)
    before = sys.getallocatedblocks()
    for number in range(800):
        ring.append(float(number))
    assert sys.getallocatedblocks() - before < 20


def test_cleared_ring_is_empty() -> None:
    ring = LossRing(3)
    ring.extend([1.0, 2.0])
    ring.clear()
    assert list(ring) == []


def test_ring_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="keeps at least one, got 0"):
        LossRing(0)
