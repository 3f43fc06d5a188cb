from __future__ import annotations

import pytest
import torch
from small_stacks import make_batch, make_stack

from reference_trainer.ddpg import AgentStack
from reference_trainer.networks import (
    Architecture,
    NetworkStack,
    layer_views,
    mlp_architecture,
    per_asset_architecture,
)
from reference_trainer.replay_buffer import Batch


def perceptron(network: NetworkStack, values: torch.Tensor, row: int) -> torch.nn.Sequential:
    """One agent's network as a module of PyTorch with two hidden layers."""
    parts: list[torch.nn.Module] = []
    for weight, bias in layer_views(values, network.sizes):
        linear = torch.nn.Linear(weight.shape[2], weight.shape[1])
        linear.weight.data, linear.bias.data = weight[row].clone(), bias[row, 0].clone()
        parts += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*parts[:-1])


def test_an_update_is_that_of_modules_and_optimizers_of_pytorch() -> None:
    stack, row = make_stack(compiled=False, saturation_penalty=0.3), 1
    batches = [make_batch(), make_batch(discount=0.0), make_batch(discount=0.5)]
    actor, target_actor = (
        perceptron(stack.actor, m, row) for m in (stack.actor.values, stack.actor.target)
    )
    critic, target_critic = (
        perceptron(stack.critic, m, row) for m in (stack.critic.values, stack.critic.target)
    )
    critic_adam = torch.optim.Adam(critic.parameters(), lr=stack.critic.lr)
    actor_adam = torch.optim.Adam(actor.parameters(), lr=stack.actor.lr)
    for batch in batches:
        s, a, r, s2, discount = (field[row] for field in vars(batch).values())
        with torch.no_grad():
            q2 = target_critic(torch.cat([s2, target_actor(s2).tanh()], 1)).squeeze(1)
        critic_loss = (critic(torch.cat([s, a], 1)).squeeze(1) - (r + discount * q2)).pow(2).mean()
        said = actor(s)
        earned = critic(torch.cat([s, said.tanh()], 1)).mean()
        actor_loss = 0.3 * said.pow(2).mean() - earned
        actor_adam.zero_grad()
        actor_loss.backward()
        critic_adam.zero_grad()  # what the actor's loss left there
        critic_loss.backward()
        critic_adam.step()
        actor_adam.step()
        for mine, followed in ((target_critic, critic), (target_actor, actor)):
            for old, new in zip(mine.parameters(), followed.parameters(), strict=True):
                old.data.lerp_(new.data, stack.tau)

        losses = stack.update([batch])

        assert torch.allclose(losses.critic[row], critic_loss, atol=1e-6)
        assert torch.allclose(losses.actor[row], actor_loss, atol=1e-6)
    for network, modules in zip(
        stack.networks, ((actor, target_actor), (critic, target_critic)), strict=True
    ):
        for matrix, module in zip((network.values, network.target), modules, strict=True):
            flat = torch.cat([parameter.reshape(-1) for parameter in module.parameters()])
            assert torch.allclose(matrix[row], flat, atol=1e-6)


@pytest.mark.parametrize(
    "architecture",
    [
        mlp_architecture(22, 5, (8,), keep=2),
        per_asset_architecture(5, 3, (8, 8)),
        per_asset_architecture(5, 3, (8,), keep=2),
    ],
)
def test_every_architecture_learns_what_an_action_earns(architecture: Architecture) -> None:
    draw = torch.Generator().manual_seed(0)
    stack = AgentStack.create(
        architecture, 2, tau=0.1, actor_lr=1e-2, critic_lr=1e-2, generator=draw
    )
    seen, action = torch.randn(2, 64, 22, generator=draw), torch.rand(2, 64, 5, generator=draw)
    batch = Batch(seen, action, -action.sum(-1), seen, torch.zeros(2, 64))
    before = stack.act(seen).mean()
    losses = [stack.update([batch]) for _ in range(100)]
    assert (losses[-1].critic < 0.5 * losses[0].critic).all()
    assert stack.act(seen).mean() < before - 0.1


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
