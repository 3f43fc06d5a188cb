"""Healthy programs whose memory moves, or rises for a while, with no object to blame."""

from __future__ import annotations

import random
from typing import Any

from regression_tests.benchmarks.leakbench.program import GENERATIONS, ROUNDS, healthy, work


class Ring:
    def __init__(self, capacity: int) -> None:
        import numpy as np

        self.rows = np.zeros((capacity, 250), np.float64)
        self.used = 0

    def extend(self, count: int) -> None:
        self.rows[self.used : self.used + count] = 1.0
        self.used += count


@healthy
def preallocated_buffer_touched(guard: Any) -> None:
    ring = Ring(15_000)
    guard.gauge("replay_buffer", lambda: ring.used, capacity=15_000)
    for _ in guard.generations(ROUNDS):
        with guard.phase("collect"):
            ring.extend(1_000)
            work()
        with guard.phase("train"):
            work()


@healthy
def preallocated_buffer_fills_up(guard: Any) -> None:
    ring = Ring(5_000)
    for generation in guard.generations(ROUNDS):
        with guard.phase("collect"):
            if generation <= 5:
                ring.extend(1_000)
            work()
        with guard.phase("train"):
            work()


@healthy
def list_buffer_with_a_gauge(guard: Any) -> None:
    import numpy as np

    class Replay:
        def __init__(self) -> None:
            self.transitions: list[Any] = []

    replay = Replay()
    guard.gauge("replay", lambda: len(replay.transitions), capacity=2_000)
    for generation in guard.generations(ROUNDS):
        with guard.phase("collect"):
            replay.transitions.extend(np.full(100, generation) for _ in range(100))
            work()
        with guard.phase("train"):
            work()


@healthy
def first_optimizer_step(guard: Any) -> None:
    import torch

    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(128, 512), torch.nn.ReLU(), torch.nn.Linear(512, 8))
    optimizer = torch.optim.Adam(model.parameters())
    for generation in guard.generations(ROUNDS):
        with guard.phase("rollout"):
            batch = torch.randn(64, 128)
            work()
        with guard.phase("train"):
            if generation >= 3:
                optimizer.zero_grad()
                model(batch).pow(2).mean().backward()
                optimizer.step()
            work()


@healthy
def allocator_plateau(guard: Any) -> None:
    chance = random.Random(2)
    kept: list[bytearray] = []
    for _ in guard.generations(ROUNDS):
        with guard.phase("parse"):
            blocks = [bytearray(chance.randrange(20_000, 60_000)) for _ in range(150)]
            kept[:] = blocks[::30]
            del blocks
            work()
        with guard.phase("serve"):
            work()


@healthy
def batches_of_random_size(guard: Any) -> None:
    import numpy as np

    chance = random.Random(7)
    for _ in guard.generations(ROUNDS):
        with guard.phase("batch"):
            batch = np.ones((chance.randrange(500, 6_000), 100))
            work()
        with guard.phase("fit"):
            float(batch.sum())
            work()


@healthy
def population_cloned_and_swapped(guard: Any) -> None:
    import numpy as np

    population = [np.ones(60_000, np.float32) for _ in range(8)]
    for _ in guard.generations(ROUNDS):
        with guard.phase("evaluate"):
            work()
        with guard.phase("evolve"):
            clones = [member.copy() for member in population]
            population = clones
            del clones
            work()


@healthy
def checkpoint_every_fourth(guard: Any) -> None:
    import numpy as np

    weights = np.ones(1_000_000, np.float32)
    for generation in guard.generations(ROUNDS):
        with guard.phase("train"):
            weights *= 1.001
            work()
        with guard.phase("checkpoint"):
            if generation % 4 == 0:
                len(weights.tobytes())
            work()


@healthy
def scores_in_a_fixed_table(guard: Any) -> None:
    import numpy as np

    scores = np.zeros((GENERATIONS + 1, 16))
    for generation in guard.generations(ROUNDS):
        with guard.phase("evaluate"):
            scores[generation] = generation
            work()
        with guard.phase("report"):
            f"{scores[generation].mean():.2f}"
            work()
