from __future__ import annotations

import numpy as np
import pytest
import torch

from reference_trainer.ddpg import AgentStack, DDPGAgent, LearningRules
from reference_trainer.networks import mlp_architecture
from reference_trainer.noise import GaussianNoise, OrnsteinUhlenbeckNoise, make_noise
from reference_trainer.replay_buffer import Batch


def make_stack(rows: int = 3, **rules: object) -> AgentStack:
    return AgentStack.create(
        mlp_architecture(4, 2, (8, 8)),
        LearningRules(**rules),  # type: ignore[arg-type]
        rows,
        actor_lr=1e-3,
        critic_lr=1e-3,
        generator=torch.Generator().manual_seed(0),
    )


def make_batch(rows: int = 3, size: int = 16, discount: float = 0.99) -> Batch:
    draw = torch.Generator().manual_seed(1)
    return Batch(
        torch.randn(rows, size, 4, generator=draw),
        torch.rand(rows, size, 2, generator=draw) * 2 - 1,
        torch.randn(rows, size, generator=draw),
        torch.randn(rows, size, 4, generator=draw),
        torch.full((rows, size), discount),
    )


def make_agent() -> DDPGAgent:
    return DDPGAgent(make_stack(1), noise="gaussian", noise_scale=0.1)


def test_critic_learns_the_reward_when_nothing_follows() -> None:
    stack, batch = make_stack(), make_batch(discount=0.0)
    first = stack.update([batch]).critic
    for _ in range(200):
        last = stack.update([batch]).critic
    assert (last < 0.5 * first).all()


def test_actor_climbs_its_critic() -> None:
    stack, batch = make_stack(), make_batch(discount=0.0)
    for _ in range(100):
        stack.update([batch])
    before = stack.critics[0].values.clone()
    value = -stack._actor_loss(batch)
    stack.actor.accumulate(stack._actor_loss(batch).sum())
    stack.actor.apply_gradients()
    assert (-stack._actor_loss(batch) > value).all()
    assert torch.equal(stack.critics[0].values, before)


def test_actor_step_leaves_no_gradient_in_the_critic() -> None:
    stack, batch = make_stack(), make_batch()
    stack.actor.accumulate(stack._actor_loss(batch).sum())
    assert not stack.critics[0].grad.any()


def test_terminated_states_do_not_bootstrap_and_truncated_ones_do() -> None:
    stack = make_stack()
    ended, cut = make_batch(discount=0.0), make_batch(discount=0.99)
    assert torch.equal(stack._td_target(ended, None), ended.reward)
    assert not torch.allclose(stack._td_target(cut, None), cut.reward)


def test_two_half_batches_accumulate_to_the_whole_one() -> None:
    whole, halves, batch = make_stack(), make_stack(), make_batch()
    whole.update([batch])
    halves.update(batch.split(2))
    assert torch.allclose(whole.actor.values, halves.actor.values, atol=1e-6)
    assert torch.allclose(whole.critics[0].values, halves.critics[0].values, atol=1e-6)


def test_losses_carry_no_graph_unless_asked_to() -> None:
    stack = make_stack()
    assert stack.update([make_batch()]).critic.grad_fn is None
    assert stack.update([make_batch()], keep_graph=True).critic.grad_fn is not None


def test_rehearsal_changes_no_parameter_and_no_moment() -> None:
    stack = make_stack()
    before = [m.clone() for n in stack.networks for m in n.followers(grad=True)]
    stack.rehearse(make_batch())
    after = [m for n in stack.networks for m in n.followers(grad=True)]
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_twin_critics_delay_the_policy_and_take_the_smaller_value() -> None:
    stack, draw = make_stack(twin=True), torch.Generator().manual_seed(2)
    assert len(stack.critics) == 2
    before = stack.actor.values.clone()
    stack.update([make_batch()], generator=draw)
    assert torch.equal(stack.actor.values, before)
    stack.update([make_batch()], generator=draw)
    assert not torch.equal(stack.actor.values, before)


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
    agent = DDPGAgent(stack.view(1, 2), noise="gaussian", noise_scale=0.1)
    before = stack.actor.values.clone()
    agent.update(make_batch(1), accumulate=2)
    assert torch.equal(stack.actor.values[[0, 2]], before[[0, 2]])
    assert not torch.equal(stack.actor.values[1], before[1])


def test_loss_history_is_bounded() -> None:
    agent = DDPGAgent(make_stack(1), noise="gaussian", noise_scale=0.1, loss_history=5)
    for _ in range(9):
        agent.update(make_batch(1))
    assert len(agent.critic_losses) == len(agent.actor_losses) == 5


def test_noisy_actions_stay_inside_the_bounds() -> None:
    agent = DDPGAgent(make_stack(1), noise="gaussian", noise_scale=50.0)
    rng = np.random.default_rng(0)
    actions = [agent.act(np.ones(4, np.float32), rng) for _ in range(20)]
    assert np.abs(actions).max() <= 1.0


def test_action_without_noise_is_the_policy() -> None:
    agent, observation = make_agent(), np.ones(4, np.float32)
    assert np.array_equal(agent.act(observation), agent.act(observation))


@pytest.mark.parametrize("kind", ["gaussian", "ou"])
def test_noise_scales_with_its_scale(kind: str) -> None:
    def spread(scale: float) -> float:
        noise, rng = make_noise(kind, 4, scale), np.random.default_rng(0)
        return float(np.std([noise.sample(rng) for _ in range(500)]))

    assert spread(0.2) == pytest.approx(2 * spread(0.1), rel=1e-4)


def test_ou_noise_is_correlated_and_gaussian_noise_is_not() -> None:
    def correlation(noise: GaussianNoise | OrnsteinUhlenbeckNoise) -> float:
        rng = np.random.default_rng(0)
        series = np.array([noise.sample(rng)[0] for _ in range(2000)])
        return float(np.corrcoef(series[1:], series[:-1])[0, 1])

    assert correlation(OrnsteinUhlenbeckNoise(1, 0.1)) > 0.7
    assert abs(correlation(GaussianNoise(1, 0.1))) < 0.1
