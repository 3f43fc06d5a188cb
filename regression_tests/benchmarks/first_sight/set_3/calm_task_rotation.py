"""Five tasks take turns of eight rounds; each has another number of environments."""

# /// truth
# about = "five tasks with different working sets take turns of eight rounds"
# ///
import os

import numpy as np

from leakguard import LeakGuard

rng = np.random.default_rng(111)


class Env:
    def __init__(self, seed: int, size: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.map = self.rng.standard_normal((size, size))
        self.state = np.zeros(size)

    def step(self) -> float:
        self.state = np.tanh(self.map @ self.state + self.rng.standard_normal(len(self.state)))
        return float(self.state.mean())


SIZES = {"reach": (4, 40), "push": (9, 60), "stack": (14, 90), "sort": (25, 120), "pour": (6, 50)}
guard = LeakGuard(out=os.environ["RUN_FILE"])
envs: list[Env] = []
task = None
with guard:
    for number in guard.generations(range(1, 241)):
        wanted = list(SIZES)[(number - 1) // 8 % 5]
        with guard.phase("switch"):
            if wanted != task:
                task = wanted
                count, size = SIZES[task]
                envs = [Env(number * 100 + k, size) for k in range(count)]
        with guard.phase("rollout"):
            for env in envs:
                for _ in range(800 // len(envs)):
                    env.step()
