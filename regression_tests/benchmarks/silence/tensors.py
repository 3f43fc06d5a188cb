"""Leaks with torch: graphs, hooks, states, parameter groups and views."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

from regression_tests.benchmarks.silence.program import Program

Steps = Iterator[Callable[[int], object]]


class Trainer:
    """A small network, its optimizer, and what is kept of the rounds."""

    def __init__(self) -> None:
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(0)
        self.torch = torch
        self.net = torch.nn.Sequential(
            torch.nn.Linear(48, 96), torch.nn.Tanh(), torch.nn.Linear(96, 48)
        )
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.memory = torch.zeros(32, 48)
        self.curve: list[object] = []
        self.checkpoints: list[object] = []
        self.previews: list[object] = []
        self.answers: list[object] = []

    def train(self, steps: int = 6) -> object:
        """Train a little and return the last loss."""
        for _ in range(steps):
            batch = self.torch.randn(32, 48)
            loss = (self.net(batch) - batch).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss


TRAINER: Trainer | None = None


def _trainer() -> Trainer:
    global TRAINER
    TRAINER = Trainer()
    return TRAINER


def state_that_is_never_cut(leaks: bool) -> Steps:
    """A hidden state is carried from round to round with its whole past."""
    trainer = _trainer()

    def step(number: int) -> None:
        trainer.train(3)
        memory = trainer.memory if leaks else trainer.memory.detach()
        trainer.memory = trainer.torch.tanh(trainer.net(memory + 0.1))

    yield step


def curve_of_losses(leaks: bool) -> Steps:
    """The losses of an evaluation are kept for a curve, with their graphs or as numbers."""
    trainer = _trainer()

    def step(number: int) -> None:
        trainer.train(3)
        loss = trainer.net(trainer.torch.randn(256, 48)).abs().mean()
        trainer.curve.append(loss if leaks else loss.item())

    yield step


def hooks_of_a_profiler(leaks: bool) -> Steps:
    """A profiler hooks into the network in each round, and hooks out again or does not."""
    trainer = _trainer()

    def step(number: int) -> None:
        sums = trainer.torch.zeros(64, 96)

        def hook(module: object, given: object, out: object) -> None:
            sums.add_(out.detach()[:1])

        handle = trainer.net[1].register_forward_hook(hook)
        trainer.train(2)
        if not leaks:
            handle.remove()

    yield step


def checkpoints_in_memory(leaks: bool) -> Steps:
    """A copy of the network's state is kept of each round, or of the last one."""
    trainer = _trainer()

    def step(number: int) -> None:
        trainer.train(3)
        if not leaks:
            trainer.checkpoints.clear()
        trainer.checkpoints.append(copy.deepcopy(trainer.net.state_dict()))

    yield step


def groups_of_adapters(leaks: bool) -> Steps:
    """An adapter's parameters are added to the optimizer in each round, which keeps them all."""
    trainer = _trainer()

    def step(number: int) -> None:
        adapter = trainer.torch.nn.Linear(96, 96)
        if leaks:
            trainer.optimizer.add_param_group({"params": list(adapter.parameters())})
        trainer.train(2)

    yield step


def previews_of_batches(leaks: bool) -> Steps:
    """The first rows of each batch are kept, as views of the whole or as copies."""
    trainer = _trainer()

    def step(number: int) -> None:
        trainer.train(2)
        batch = trainer.torch.randn(512, 96)
        trainer.previews.append(batch[:4] if leaks else batch[:1, :4].clone())

    yield step


def answers_as_arrays(leaks: bool) -> Steps:
    """Answers of an evaluation are kept as arrays that share the tensors' memory."""
    trainer = _trainer()

    def step(number: int) -> None:
        trainer.train(2)
        with trainer.torch.no_grad():
            answer = trainer.net(trainer.torch.randn(400, 48)).numpy()
        if not leaks:
            trainer.answers.clear()
        trainer.answers.append(answer)

    yield step


PROGRAMS = tuple(
    Program(make, held_by, fix, torch=True, rounds=rounds)
    for make, held_by, fix, rounds in (
        (state_that_is_never_cut, ("memory",), "detach", 40),
        (curve_of_losses, ("curve",), "item()", 40),
        (hooks_of_a_profiler, ("_forward_hooks",), "handle.remove()", 40),
        (checkpoints_in_memory, ("checkpoints",), "state", 40),
        (groups_of_adapters, ("optimizer",), "", 40),
        (previews_of_batches, ("previews",), "clone", 40),
        (answers_as_arrays, ("answers",), "", 40),
    )
)
