from __future__ import annotations

import pytest
import torch
from small_stacks import make_batch, make_stack

from reference_trainer.ddpg import AgentStack
from reference_trainer.networks import Architecture, mlp_architecture, per_asset_architecture
from reference_trainer.replay_buffer import Batch


@pytest.mark.parametrize(
    "architecture",
    [
        mlp_architecture(22, 5, (8, 8)),
        mlp_architecture(22, 5, (8,), keep=2),
        per_asset_architecture(5, 3, (8, 8)),
        per_asset_architecture(5, 3, (8,), keep=2),
    ],
)
def test_gradients_are_those_of_the_losses(architecture: Architecture) -> None:
    draw = torch.Generator().manual_seed(0)
    stack = AgentStack.create(
        architecture,
        3,
        tau=0.1,
        actor_lr=1e-3,
        critic_lr=1e-3,
        generator=draw,
        saturation_penalty=0.3,
    )
    batch = Batch(
        torch.randn(3, 16, 22, generator=draw),
        torch.rand(3, 16, 5, generator=draw) * 2 - 1,
        torch.randn(3, 16, generator=draw),
        torch.randn(3, 16, 22, generator=draw),
        torch.full((3, 16), 0.9),
    )
    losses = (stack.actor_loss(batch), stack.critic_loss(batch, stack.td_target(batch)))
    expected = []
    for network, loss in zip(stack.networks, losses, strict=True):
        network.accumulate(loss.sum())
        expected.append(network.grad.clone())
        network.grad.zero_()
    found = (stack.actor_gradient(batch), stack.critic_gradient(batch))
    for network, grad, loss, by_hand in zip(stack.networks, expected, losses, found, strict=True):
        assert grad.abs().max() > 0.01
        assert torch.allclose(network.grad, grad, rtol=1e-4, atol=1e-6)
        assert torch.allclose(by_hand, loss, atol=1e-6)


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
    before = stack.critic.values.clone()
    value = -stack.actor_loss(batch)
    stack.actor.accumulate(stack.actor_loss(batch).sum())
    stack.actor.apply_gradients()
    assert (-stack.actor_loss(batch) > value).all()
    assert torch.equal(stack.critic.values, before)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_saturated_actor_finds_back_by_the_penalty_alone(compiled: bool) -> None:
    def largest_after(penalty: float) -> float:
        stack = AgentStack.create(
            mlp_architecture(4, 2, (8, 8)),
            3,
            tau=0.005,
            actor_lr=0.1,
            critic_lr=1e-3,
            generator=torch.Generator().manual_seed(0),
            saturation_penalty=penalty,
            compiled=compiled,
        )
        stack.actor.frozen[-1][1].fill_(20.0)  # tanh 20 is 1, and its slope is 0
        for _ in range(300):
            stack.update([make_batch()])
        return float(stack.act(make_batch().observation).abs().mean())

    assert largest_after(0.0) == 1.0
    assert largest_after(1e-3) < 0.99


def test_actor_step_leaves_no_gradient_in_the_critic() -> None:
    stack, batch = make_stack(), make_batch()
    stack.actor.accumulate(stack.actor_loss(batch).sum())
    assert not stack.critic.grad.any()


def test_terminated_states_do_not_bootstrap_and_truncated_ones_do() -> None:
    stack = make_stack()
    ended, cut = make_batch(discount=0.0), make_batch(discount=0.99)
    assert torch.equal(stack.td_target(ended), ended.reward)
    assert not torch.allclose(stack.td_target(cut), cut.reward)


def test_two_half_batches_accumulate_to_the_whole_one() -> None:
    whole, halves, batch = make_stack(), make_stack(), make_batch()
    whole.update([batch])
    halves.update(batch.split(2))
    assert torch.allclose(whole.actor.values, halves.actor.values, atol=1e-6)
    assert torch.allclose(whole.critic.values, halves.critic.values, atol=1e-6)


def test_losses_carry_no_graph() -> None:
    losses = make_stack().update([make_batch()])
    assert losses.critic.grad_fn is None
    assert losses.actor.grad_fn is None


def test_targets_follow_their_networks_slowly() -> None:
    stack = make_stack()
    before = [network.target.clone() for network in stack.networks]
    stack.update([make_batch()])
    for network, old in zip(stack.networks, before, strict=True):
        moved = (1 - stack.tau) * old + stack.tau * network.values
        assert torch.allclose(network.target, moved, atol=1e-7)
        assert not torch.equal(network.target, old)


def test_each_batch_is_used_before_the_next_is_sampled() -> None:
    stack, twin, batch = make_stack(), make_stack(), make_batch()
    halves = list(batch.split(2))

    def sampled():  # type: ignore[no-untyped-def]
        shared = next(make_batch().split(2))
        for half in halves:
            for kept, new in zip(vars(shared).values(), vars(half).values(), strict=True):
                kept.copy_(new)
            yield shared

    stack.update(sampled())
    twin.update(halves)
    assert torch.equal(stack.actor.values, twin.actor.values)


def test_who_samples_a_batch_may_build_a_graph() -> None:
    stack, batch, graphs = make_stack(), make_batch(), []

    def sampled():  # type: ignore[no-untyped-def]
        graphs.append(stack.critic_loss(batch, stack.td_target(batch)).grad_fn)
        yield batch

    stack.update(sampled())
    assert graphs[0] is not None
