"""Ways to make the update of `reference_trainer/ddpg.py`, for the table that compares them.

Each takes agents and gives what makes one gradient step of all of them on a batch. The trainer has
the first two; the others are here, where they are measured and held against its equations.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.func import grad, vmap

from reference_trainer.ddpg import AgentStack
from reference_trainer.networks import Layers, NetworkStack, layer_views, mlp
from reference_trainer.replay_buffer import Batch

Step = Callable[[Batch], object]


def compiled(stack: AgentStack) -> Step:
    """By `reference_trainer/_fused.c`, also where the networks are too large for the trainer's."""
    if stack.fused is None:
        raise ValueError("not built, or networks that the compiled code is not for")
    return lambda batch: stack.update([batch])


def autograd(stack: AgentStack) -> Step:
    """By the equations as they stand in `ddpg.py`: stacked weights, `baddbmm` and fused Adam."""
    plain = uncompiled(stack)
    return lambda batch: plain.update([batch])


def by_hand(stack: AgentStack) -> Step:
    """With gradients written out: the same products, no graph, slopes added where they belong."""
    plain = uncompiled(stack)

    @torch.inference_mode()
    def step(batch: Batch) -> None:
        _critic_by_hand(plain, batch)
        _actor_by_hand(plain, batch)
        plain.descend(1)

    return step


def functional(stack: AgentStack) -> Step:
    """With `torch.func`: the losses of one agent, differentiated and mapped over the genomes."""
    plain = uncompiled(stack)
    shape, actor, critic = plain.architecture, plain.actor, plain.critic

    def value(genome: Tensor, seen: Tensor, action: Tensor) -> Tensor:
        return shape.critic(_layers(critic, genome), seen[None], action[None])[0]

    def critic_loss(genome: Tensor, target: Tensor, seen: Tensor, action: Tensor) -> Tensor:
        return (target - value(genome, seen, action)).square().mean()

    def actor_loss(genome: Tensor, judge: Tensor, seen: Tensor) -> Tensor:
        output = mlp(_layers(actor, genome), seen[None])
        earned = value(judge, seen, shape.action(output)[0]).mean()
        return plain.saturation_penalty * output.square().mean() - earned

    def step(batch: Batch) -> None:
        target, seen = plain.td_target(batch), batch.observation
        critic.grad += vmap(grad(critic_loss))(critic.values, target, seen, batch.action)
        actor.grad += vmap(grad(actor_loss))(actor.values, critic.values, seen)
        plain.descend(1)

    return step


def inductor(stack: AgentStack) -> Step:
    """With `torch.compile`: gradients, Adam and targets as one graph of fixed shapes."""
    plain = uncompiled(stack)
    torch._dynamo.reset()
    return torch.compile(_whole_update(plain), dynamic=False)


def uncompiled(stack: AgentStack) -> AgentStack:
    """The same agents in memory of their own, updated by PyTorch."""
    return copy.deepcopy(
        AgentStack(
            stack.architecture,
            stack.tau,
            stack.actor,
            stack.critic,
            saturation_penalty=stack.saturation_penalty,
            compiled=False,
        )
    )


def _whole_update(stack: AgentStack) -> Step:
    """Without what a compiler cannot follow: memory that is written to, and a fused optimizer."""
    actor, critic = stack.actor, stack.critic

    def step(batch: Batch) -> None:
        target, seen = stack.td_target(batch), batch.observation
        live = critic.values.detach().requires_grad_()
        value = stack.architecture.critic(_layers(critic, live), seen, batch.action)
        (slope,) = torch.autograd.grad((target - value).square().mean(-1).sum(), live)
        live = actor.values.detach().requires_grad_()
        output = mlp(_layers(actor, live), seen)
        value = stack.architecture.critic(critic.frozen, seen, stack.architecture.action(output))
        loss = stack.saturation_penalty * output.square().mean((1, 2)) - value.mean(-1)
        (actor_slope,) = torch.autograd.grad(loss.sum(), live)
        _adam(critic, slope, stack.tau)
        _adam(actor, actor_slope, stack.tau)

    return step


@torch.no_grad()
def _adam(network: NetworkStack, slope: Tensor, tau: float) -> None:
    """Kingma & Ba 2015, algorithm 1; then the targets follow."""
    network.step += 1
    network.exp_avg.lerp_(slope, 0.1)
    network.exp_avg_sq.mul_(0.999).addcmul_(slope, slope, value=0.001)
    size = network.lr / (1 - 0.9**network.step)
    scale = network.exp_avg_sq.sqrt() / (1 - 0.999**network.step).sqrt() + 1e-8
    network.values.sub_(size * network.exp_avg / scale)
    network.target.lerp_(network.values, tau)


def _layers(network: NetworkStack, genome: Tensor) -> Layers:
    return layer_views(genome.view(-1, network.values.shape[1]), network.sizes)


def _critic_by_hand(stack: AgentStack, batch: Batch) -> None:
    """The slope of `critic_loss`, of networks that read their inputs as they come."""
    layers, grads = stack.critic.frozen, stack.critic.grad_layers
    said, read = _forward(layers, torch.cat([batch.observation, batch.action], -1))
    error = said.squeeze(-1) - stack.td_target(batch)
    _backward(layers, read, (error * (2 / error.shape[1])).unsqueeze(-1), grads)


def _actor_by_hand(stack: AgentStack, batch: Batch) -> None:
    """The slope of `actor_loss`, of the same."""
    output, seen = _forward(stack.actor.frozen, batch.observation)
    action = output.tanh()
    value, read = _forward(stack.critic.frozen, torch.cat([batch.observation, action], -1))
    slope = _backward(stack.critic.frozen, read, torch.full_like(value, -1 / value.shape[1]))
    slope = slope[..., -action.shape[-1] :] * (1 - action.square())
    slope = slope + output * (2 * stack.saturation_penalty / output[0].numel())
    _backward(stack.actor.frozen, seen, slope, stack.actor.grad_layers)


def _forward(layers: Layers, x: Tensor) -> tuple[Tensor, list[Tensor]]:
    """What the last layer says, and what each layer has read."""
    read = [x]
    for weight, bias in layers[:-1]:
        read.append(torch.baddbmm(bias, read[-1], weight.transpose(1, 2)).relu_())
    weight, bias = layers[-1]
    return torch.baddbmm(bias, read[-1], weight.transpose(1, 2)), read


def _backward(
    layers: Layers, read: Sequence[Tensor], slope: Tensor, grads: Layers | None = None
) -> Tensor:
    """The slope by the inputs; or, with `grads`, those by weights and biases are added to them."""
    for level in reversed(range(len(layers))):
        if grads is not None:
            weight, bias = grads[level]
            weight.baddbmm_(slope.transpose(1, 2), read[level])
            bias.add_(slope.sum(1, keepdim=True))
        if level or grads is None:
            slope = torch.bmm(slope, layers[level][0])
        if level:
            slope = torch.ops.aten.threshold_backward(slope, read[level], 0)
    return slope


#: By the names of the table; the first is the one that the others are divided by.
WAYS: dict[str, Callable[[AgentStack], Step]] = {
    "compiled C": compiled,
    "autograd": autograd,
    "by hand": by_hand,
    "torch.func": functional,
    "torch.compile": inductor,
}
