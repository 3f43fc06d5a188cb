"""Compiled updates of small networks, beside the same ones by PyTorch."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from small_stacks import make_batch, make_stack

from reference_trainer import fused
from reference_trainer.config import GYM, Config
from reference_trainer.ddpg import AgentStack
from reference_trainer.networks import mlp_architecture, per_asset_architecture
from reference_trainer.population import Population
from reference_trainer.replay_buffer import Batch

pytestmark = pytest.mark.skipif(fused.kernel is None, reason="no compiler was there")

# Sizes beside those of vectors and tiles, of one layer and of several.
SHAPES = [
    (3, 1, (64, 64), 1, 64),
    (8, 2, (64, 64), 3, 64),
    (24, 6, (32, 48), 4, 100),
    (5, 3, (7, 9, 11), 2, 13),
    (17, 4, (130,), 2, 8),
    (2, 1, (3,), 1, 2),
]


def twins(observation: int, action: int, hidden: tuple[int, ...], rows: int) -> list[AgentStack]:
    """The same agents, updated by compiled code and by PyTorch."""
    return [
        AgentStack.create(
            mlp_architecture(observation, action, hidden),
            rows,
            tau=0.02,
            actor_lr=1e-3,
            critic_lr=2e-3,
            generator=torch.Generator().manual_seed(0),
            saturation_penalty=0.3,
            compiled=compiled,
        )
        for compiled in (True, False)
    ]


def batches(observation: int, action: int, rows: int, size: int, count: int) -> list[Batch]:
    draw = torch.Generator().manual_seed(1)
    return [
        Batch(
            torch.randn(rows, size, observation, generator=draw),
            torch.rand(rows, size, action, generator=draw) * 2 - 1,
            torch.randn(rows, size, generator=draw),
            torch.randn(rows, size, observation, generator=draw),
            0.9 * torch.randint(2, (rows, size), generator=draw),
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize(("observation", "action", "hidden", "rows", "size"), SHAPES)
def test_gradients_and_losses_are_those_of_pytorch(
    observation: int, action: int, hidden: tuple[int, ...], rows: int, size: int
) -> None:
    compiled, plain = twins(observation, action, hidden, rows)
    assert compiled.fused is not None
    assert plain.fused is None
    for batch in batches(observation, action, rows, size, 2):  # the second is added to the first
        assert torch.allclose(compiled.gradients(batch), plain.gradients(batch), atol=1e-5)
    for one, other in zip(compiled.networks, plain.networks, strict=True):
        assert other.grad.abs().max() > 0
        assert torch.allclose(one.grad, other.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("observation", "action", "hidden", "rows", "size"), SHAPES)
def test_a_step_is_that_of_pytorch(
    observation: int, action: int, hidden: tuple[int, ...], rows: int, size: int
) -> None:
    compiled, plain = twins(observation, action, hidden, rows)
    draw = torch.Generator().manual_seed(2)
    for _, (one, other) in itertools.product(
        range(3), zip(compiled.networks, plain.networks, strict=True)
    ):
        other.grad.normal_(generator=draw)
        one.grad.copy_(other.grad)
    for _ in range(3):
        compiled.descend(2)
        plain.descend(2)
    for one, other in zip(compiled.networks, plain.networks, strict=True):
        assert one.step == other.step == 3
        assert not one.grad.any()
        for mine, theirs in zip(one.followers(), other.followers(), strict=True):
            assert torch.allclose(mine, theirs, rtol=1e-5, atol=1e-7)


def test_halves_of_a_batch_are_read_in_place() -> None:
    compiled, plain = twins(4, 2, (8, 8), 3)
    losses = [stack.update(make_batch().split(2)) for stack in (compiled, plain)]
    assert torch.allclose(losses[0].critic, losses[1].critic, atol=1e-6)
    assert torch.allclose(compiled.critic.values, plain.critic.values, atol=1e-6)


def test_agents_do_not_touch_one_another() -> None:
    stack, batch = make_stack(3), make_batch(3)
    alone = stack.view(1, 2).copy()
    stack.update([batch])
    alone.update([Batch(*(field[1:2] for field in vars(batch).values()))])
    assert torch.equal(stack.actor.values[1:2], alone.actor.values)
    assert torch.equal(stack.critic.target[1:2], alone.critic.target)


@pytest.mark.parametrize("hidden", [(64, 64), (3,), (9, 5, 20)])
def test_an_answer_is_that_of_pytorch(hidden: tuple[int, ...]) -> None:
    stack = twins(11, 3, hidden, 2)[0].view(1, 2)
    seen = np.random.default_rng(0).standard_normal(11).astype(np.float32)
    expected = stack.act(torch.from_numpy(seen).view(1, 1, -1)).reshape(-1)
    answers = [stack.answer(seen), stack.answer(0 * seen)]
    assert np.allclose(answers[0], expected, atol=1e-6)
    assert not np.array_equal(*answers)  # the first was not written over


def test_other_networks_and_large_ones_are_left_to_pytorch() -> None:
    for architecture in (
        per_asset_architecture(5, 3, (8, 8)),
        mlp_architecture(4, 5, (8,), keep=2),
        mlp_architecture(4, 2, (1024, 1024)),
    ):
        stack = AgentStack.create(
            architecture, 1, tau=0.1, actor_lr=1e-3, critic_lr=1e-3, generator=torch.Generator()
        )
        assert stack.fused is None


def test_a_run_may_ask_for_pytorch() -> None:
    for compiled in (True, False):
        config = Config(**{**GYM, "population_size": 3, "compiled": compiled})
        population = Population(config, mlp_architecture(4, 2, (8, 8)))
        assert (population.trained.fused is not None) == compiled


@pytest.mark.parametrize("wrong", range(13))
def test_a_buffer_of_another_size_is_refused(wrong: int) -> None:
    observation, action, hidden, rows, size = 4, 2, (8, 8), 2, 16
    sizes = ((observation, *hidden, action), (observation + action, *hidden, 1))
    actor, critic = (np.zeros((rows, sum((a + 1) * b for a, b in itertools.pairwise(one))))
                     for one in sizes)  # fmt: skip
    samples = rows * size
    buffers = [
        np.zeros(count, np.float32)
        for count in (
            samples * observation, samples * action, samples, samples * observation, samples,
            *[actor.size] * 3, *[critic.size] * 3,
            fused.kernel.scratch(*sizes, size), 2 * rows,
        )
    ]  # fmt: skip
    fused.kernel.gradients(rows, 0.1, *sizes, *buffers)
    buffers[wrong] = np.append(buffers[wrong], np.float32(0))
    with pytest.raises(ValueError, match="numbers were expected"):
        fused.kernel.gradients(rows, 0.1, *sizes, *buffers)


@pytest.mark.parametrize("sizes", [(), (4,), (4, 0, 2), (4, -1, 2), tuple(range(1, 30)), [4, 2]])
def test_sizes_of_no_network_are_refused(sizes: object) -> None:
    with pytest.raises(ValueError):
        fused.kernel.scratch(sizes, (6, 8, 1), 16)  # type: ignore[arg-type]
