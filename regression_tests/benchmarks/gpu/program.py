"""One training on a GPU: ``program.py KIND leak|calm RUN_FILE DEVICE``.

Every kind keeps memory of the device in a way of its own. The calm twin does the same work and
keeps a bounded amount, or numbers. The line that makes what is kept ends in ``# MADE HERE KIND``.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from leakguard import LeakGuard

KIND, TWIN, OUT, DEVICE = sys.argv[1:5]
LEAKS = TWIN == "leak"
GENERATIONS, STEPS, WIDTH = 30, 20, 512

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1)
).to(DEVICE)
optimizer = torch.optim.Adam(model.parameters())


class Trainer:
    """Holds what its run keeps."""

    def __init__(self) -> None:
        self.kept: Any = []
        self.hidden = torch.zeros(64, WIDTH, device=DEVICE)


trainer = Trainer()


def batch() -> torch.Tensor:
    return torch.rand(256, WIDTH, device=DEVICE)


def step() -> torch.Tensor:
    """Train on one batch and return the loss."""
    loss = model(batch()).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def losses(_: int) -> None:
    loss = model(batch()).pow(2).mean()  # MADE HERE losses
    trainer.kept.append(loss if LEAKS else loss.item())


cell = nn.GRUCell(WIDTH, WIDTH).to(DEVICE)


def hidden(_: int) -> None:
    trainer.hidden = cell(trainer.hidden, trainer.hidden)  # MADE HERE hidden
    if not LEAKS:
        trainer.hidden = trainer.hidden.detach()


def rollouts(generation: int) -> None:
    if generation == 1:
        trainer.kept = [] if LEAKS else deque(maxlen=8)
    trainer.kept.append(torch.rand(1024, WIDTH, device=DEVICE))  # MADE HERE rollouts


def activations(generation: int) -> None:
    if generation == 1:
        trainer.kept = {}

    def keep(_: nn.Module, __: Any, output: torch.Tensor) -> None:
        kept = output.detach() + 0  # MADE HERE activations
        trainer.kept[len(trainer.kept) if LEAKS else 0] = kept

    handle = model[0].register_forward_hook(keep)
    model(batch())
    handle.remove()


def optimizers(_: int) -> None:
    fresh = torch.optim.Adam(model.parameters())
    model(batch()).mean().backward()
    fresh.step()  # MADE HERE optimizers
    if LEAKS:
        trainer.kept.append(fresh)


def pinned(generation: int) -> None:
    if LEAKS or generation == 1:
        block = torch.empty(1024, WIDTH, pin_memory=DEVICE == "cuda")  # MADE HERE pinned
        trainer.kept.append(block)
    trainer.kept[-1].fill_(1.0)


def weights(_: int) -> None:
    named = model.state_dict().items()
    copies = {name: w.detach().clone() for name, w in named}  # MADE HERE weights
    if LEAKS:
        trainer.kept.append(copies)
    else:
        trainer.kept = [copies]


def batches(generation: int) -> None:
    if generation == 1:
        trainer.kept = {}
    for number in range(8):
        key = (generation, number) if LEAKS else number
        trainer.kept[key] = torch.rand(128, WIDTH, device=DEVICE)  # MADE HERE batches


def sizes(generation: int) -> None:
    """Batches of many sizes: what the allocator reserves grows, what is used does not."""
    rows = 64 * (1 + generation * 7 % 31)
    block = torch.rand(rows, WIDTH, device=DEVICE)  # MADE HERE sizes
    if LEAKS:
        trainer.kept.append(block)


KEEP: dict[str, Callable[[int], None]] = {
    "losses": losses, "hidden": hidden, "rollouts": rollouts, "activations": activations,
    "optimizers": optimizers, "pinned": pinned, "weights": weights, "batches": batches,
    "sizes": sizes,
}  # fmt: skip


def train() -> None:
    """Train and keep, or not."""
    with LeakGuard(out=OUT, report=None) as guard:
        for generation in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("train"):
                for _ in range(STEPS):
                    step().item()
            with guard.phase("keep"):
                KEEP[KIND](generation)
            with guard.phase("validate"), torch.no_grad():
                model(batch()).sum().item()


def fill() -> None:
    """Keep until the device has no more, or give everything back and end."""
    if DEVICE == "cuda":
        torch.cuda.set_per_process_memory_fraction(0.03)
    with LeakGuard(out=OUT, report=None, black_box=True) as guard:
        for _ in guard.generations(range(1, 2001 if LEAKS else 61)):
            with guard.phase("keep"):
                block = torch.ones(8_000_000, device=DEVICE)  # MADE HERE out_of_memory
                if LEAKS:
                    trainer.kept.append(block)
                if len(trainer.kept) == 76 and DEVICE == "cpu":
                    raise torch.OutOfMemoryError("as CUDA would")


if __name__ == "__main__":
    fill() if KIND == "out_of_memory" else train()
