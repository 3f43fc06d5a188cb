"""Kernels are built for each bucket of lengths when it first comes, for about thirty rounds."""

# /// truth
# about = "a cache of built kernels, one for each of 120 shapes, most of which come in 30 rounds"
# ///
import os
import random

import numpy as np

from leakguard import LeakGuard

random.seed(161)
rng = np.random.default_rng(161)


class Kernel:
    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
        self.mask = np.tril(np.ones(shape, dtype=np.float32))
        self.code = compile(f"lambda x: x * {shape[0]} + {shape[1]}", "<kernel>", "eval")
        self.run = eval(self.code)


class Compiler:
    def __init__(self) -> None:
        self.kernels: dict[tuple[int, int], Kernel] = {}

    def get(self, shape: tuple[int, int]) -> Kernel:
        if shape not in self.kernels:
            self.kernels[shape] = Kernel(shape)
        return self.kernels[shape]


compiler = Compiler()
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for step in guard.generations(range(1, 251)):
        with guard.phase("batch"):
            shapes = [(8 * (1 + int(random.betavariate(2, 3) * 12)), 8 * random.randint(1, 10)) for _ in range(10)]
        with guard.phase("forward"):
            for shape in shapes:
                kernel = compiler.get(shape)
                kernel.run(rng.standard_normal((shape[1], shape[0])) @ kernel.mask)
                np.linalg.norm(rng.standard_normal((120, 120)) @ rng.standard_normal((120, 120)))
