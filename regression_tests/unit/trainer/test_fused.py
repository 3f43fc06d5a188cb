"""Compiled updates of small networks, beside the equations of `ddpg.py` by autograd."""

from __future__ import annotations

import copy
import importlib
import io
import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_stacks import make_batch, make_stack

from reference_trainer import fused
from reference_trainer.config import GYM, Config
from reference_trainer.ddpg import AgentStack
from reference_trainer.networks import mlp_architecture, per_asset_architecture
from reference_trainer.population import Population
from reference_trainer.replay_buffer import Batch
from reference_trainer.trainer import ERLTrainer

#: Float32 sums in another order: differences, as shares of the largest number of a network.
OF_GRADIENTS, OF_A_STEP = 1e-4, 1e-5
# From below a vector to beyond a tile, without a hidden layer and with several.
SHAPES = {
    "observation": st.integers(1, 40),
    "action": st.integers(1, 8),
    "hidden": st.lists(st.integers(1, 70), max_size=3).map(tuple),
    "rows": st.integers(1, 4),
    "critics": st.integers(1, 3),
    "size": st.integers(1, 70),
}
# The same examples each time: where a unit is next to nothing, two orders of a sum may disagree on
# which side of 0 it is, and then on its slope.
SAME = settings(derandomize=True, max_examples=60, deadline=None)


@pytest.fixture(autouse=True, scope="module", params=["new processors", "all processors"])
def code(request: pytest.FixtureRequest) -> Iterator[None]:
    """The code for processors with wide vectors, and that which runs on every one."""
    if fused.kernel is None:
        assert not shutil.which("cc"), "it was not built, though a compiler is here"
        pytest.skip("no compiler is here")
    wanted = request.param == "new processors"
    if fused.kernel.use_wide(wanted) != wanted:
        pytest.skip("this processor has no wide vectors")
    yield
    fused.kernel.use_wide(True)


def twins(
    observation: int, action: int, hidden: tuple[int, ...], rows: int, critics: int = 1
) -> list[AgentStack]:
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
            critics=critics,
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


def apart(one: torch.Tensor, other: torch.Tensor) -> float:
    """The largest difference as a share of the largest number of the second."""
    return float((one - other).abs().max() / other.abs().max().clamp(min=1e-6))


@SAME
@given(**SHAPES, taken=st.integers(0, 2))
def test_gradients_and_losses_are_those_of_the_equations(
    observation: int,
    action: int,
    hidden: tuple[int, ...],
    rows: int,
    critics: int,
    size: int,
    taken: int,
) -> None:
    compiled, plain = twins(observation, action, hidden, rows, critics)
    assert compiled.fused is not None
    assert plain.fused is None
    for stack in (compiled, plain):
        stack.critic.step.fill_(taken)
    draw = torch.Generator().manual_seed(size)
    for batch in batches(observation, action, rows, size, 2):  # the second is added to the first
        noise = plain.smoothing(batch, draw)
        losses = [stack.gradients(batch, noise) for stack in (compiled, plain)]
        assert apart(*losses) < OF_GRADIENTS
    assert bool(plain.actor.grad.any()) == (critics == 1 or taken % 2 == 0)
    for one, other in zip(compiled.networks, plain.networks, strict=True):
        assert apart(one.grad, other.grad) < OF_GRADIENTS


@SAME
@given(**SHAPES)
def test_a_step_is_that_of_adam_by_pytorch(
    observation: int, action: int, hidden: tuple[int, ...], rows: int, critics: int, size: int
) -> None:
    compiled, plain = twins(observation, action, hidden, rows, critics)
    draw = torch.Generator().manual_seed(size)
    for _ in range(3):
        for one, other in zip(compiled.networks, plain.networks, strict=True):
            other.grad.normal_(generator=draw)
            one.grad.copy_(other.grad)
        compiled.descend(2)
        plain.descend(2)
    for one, other in zip(compiled.networks, plain.networks, strict=True):
        assert one.step == other.step
        assert torch.equal(one.grad, other.grad)
        for mine, theirs in zip(one.followers(), other.followers(), strict=True):
            assert apart(mine, theirs) < OF_A_STEP


def test_actors_of_two_critics_learn_in_each_second_step() -> None:
    for stack in twins(4, 2, (8, 8), 3, critics=2):
        draw = torch.Generator().manual_seed(0)
        steps = []
        for _ in range(4):
            before = [network.values.clone() for network in stack.networks]
            targets = stack.critic.target.clone()
            stack.update([make_batch()], draw)
            moved = [
                not torch.equal(network.values, values)
                for network, values in zip(stack.networks, before, strict=True)
            ]
            steps.append((*moved, not torch.equal(stack.critic.target, targets)))
        assert steps == [(True, True, True), (False, True, False)] * 2
        assert stack.critic.step == 4
        assert stack.actor.step == 2


def test_halves_of_a_batch_give_what_pytorch_makes_of_them() -> None:
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
        mlp_architecture(4, 2, (8,) * 16),
    ):
        stack = AgentStack.create(
            architecture, 1, tau=0.1, actor_lr=1e-3, critic_lr=1e-3, generator=torch.Generator()
        )
        assert stack.fused is None


def test_what_is_not_a_number_is_passed_on() -> None:
    for stack in twins(4, 2, (8, 8), 3):
        seen = np.array([0.0, np.nan, 0.0, 0.0], np.float32)
        assert np.isnan(stack.view(0, 1).answer(seen)).all()
        stack.critic.frozen[0][0][1, 2, 3] = np.nan
        losses = stack.update([make_batch()])
        assert (
            losses.critic.isnan().tolist() == losses.actor.isnan().tolist() == [False, True, False]
        )


def test_numbers_of_another_format_are_converted() -> None:
    stack = twins(4, 2, (8, 8), 3)[0]
    batch, alone = make_batch(), stack.view(0, 1)
    doubles = Batch(*(field.double() for field in vars(batch).values()))
    assert torch.equal(stack.gradients(doubles), stack.gradients(batch))
    seen = np.arange(8, dtype=np.int64)[::2]
    assert np.array_equal(alone.answer(seen), alone.answer(seen.astype(np.float32)))


def test_a_deep_copy_learns_in_memory_of_its_own() -> None:
    stack = make_stack()
    twin, before = copy.deepcopy(stack), stack.actor.values.clone()
    assert twin.fused is not None
    twin.update([make_batch()])
    assert torch.equal(stack.actor.values, before)
    stack.update([make_batch()])
    assert torch.equal(stack.actor.values, twin.actor.values)
    assert stack.actor.step == twin.actor.step == 1


def test_a_rate_may_change_on_the_way() -> None:
    stack = make_stack()
    stack.actor.lr = 0.0
    before = stack.actor.values.clone()
    stack.update([make_batch()])
    assert torch.equal(stack.actor.values, before)


def test_a_module_of_other_sources_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        with monkeypatch.context() as patch:
            patch.setattr(fused.kernel, "VERSION", fused.VERSION + 1)
            assert importlib.reload(fused).kernel is None
            assert fused.HINDRANCE == "it was built for other sources"
    finally:
        assert importlib.reload(fused).kernel is not None


@pytest.mark.parametrize(
    ("compiled", "width", "says"), [(True, 16, True), (True, 512, False), (False, 16, False)]
)
def test_a_run_that_falls_back_to_pytorch_unasked_says_so(
    compiled: bool, width: int, says: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("reference_trainer.trainer.HINDRANCE", "it was not built")
    log = io.StringIO()
    sizes = {"population_size": 3, "hidden": (width, width), "out": tmp_path}
    ERLTrainer(Config(**{**GYM, **sizes}, env_id="Pendulum-v1", compiled=compiled), log)

    assert ("by PyTorch, not by the compiled module: it was not built" in log.getvalue()) == says


def test_a_run_may_ask_for_pytorch() -> None:
    for compiled in (True, False):
        config = Config(**{**GYM, "population_size": 3, "compiled": compiled})
        population = Population(config, mlp_architecture(4, 2, (8, 8)))
        assert (population.trained.fused is not None) == compiled


@pytest.mark.parametrize("wrong", range(14))
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
            samples * action, *[actor.size] * 3, *[2 * critic.size] * 3,
            fused.kernel.scratch(*sizes, size), 2 * rows,
        )
    ]  # fmt: skip
    fused.kernel.gradients(rows, 2, True, 0.1, *sizes, *buffers)
    buffers[wrong] = np.append(buffers[wrong], np.float32(0))
    with pytest.raises(ValueError, match="numbers were expected"):
        fused.kernel.gradients(rows, 2, True, 0.1, *sizes, *buffers)


@pytest.mark.parametrize("agents", [0, -1, 3, 2**62])
def test_agents_without_a_transition_are_refused(agents: int) -> None:
    sizes, nothing = ((4, 2), (6, 1)), np.zeros(0, np.float32)
    with pytest.raises(ValueError, match="each agent has a transition"):
        fused.kernel.gradients(agents, 1, True, 0.1, *sizes, *[nothing] * 14)


@pytest.mark.parametrize("critics", [0, -1, 17, 2**62])
def test_agents_without_a_critic_or_with_very_many_are_refused(critics: int) -> None:
    sizes, one = ((4, 2), (6, 1)), np.zeros(1, np.float32)
    with pytest.raises(ValueError, match="1 to 16 critics"):
        fused.kernel.gradients(1, critics, True, 0.1, *sizes, *[one] * 14)


@pytest.mark.parametrize("sizes", [(), (4,), (4, 0, 2), (4, -1, 2), tuple(range(1, 30)), [4, 2]])
def test_sizes_of_no_network_are_refused(sizes: object) -> None:
    with pytest.raises(ValueError):
        fused.kernel.scratch(sizes, (6, 8, 1), 16)  # type: ignore[arg-type]
