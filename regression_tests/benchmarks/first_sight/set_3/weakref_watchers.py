"""A registry watches tensors by weak references to say how many are alive."""

# /// truth
# about = "a registry appends a weak reference for each activation and never purges the dead ones"
# [[leak]]
# type = ["weakref", "ReferenceType"]
# holder = ["watched", "Registry"]
# phase = "forward"
# start = 1
# ///
import os
import sys
import weakref

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = np.random.default_rng(8)


class Activation:
    def __init__(self, values: np.ndarray) -> None:
        self.values = values


class Registry:
    def __init__(self) -> None:
        self.watched: list = []

    def watch(self, one: Activation) -> None:
        self.watched.append(weakref.ref(one, None if LEAK else self.watched.remove))

    def alive(self) -> int:
        return sum(ref() is not None for ref in self.watched)


registry = Registry()
layers = [rng.standard_normal((128, 128)) * 0.1 for _ in range(3)]


def forward(batch: np.ndarray) -> list[Activation]:
    kept = [Activation(batch)]
    registry.watch(kept[0])
    for layer in layers:
        kept.append(Activation(np.tanh(kept[-1].values @ layer)))
        registry.watch(kept[-1])
    return kept


def backward(kept: list[Activation]) -> None:
    slope = kept[-1].values
    for number in range(len(layers) - 1, -1, -1):
        slope = slope * (1 - kept[number + 1].values ** 2)
        layers[number] -= 1e-6 * kept[number].values.T @ slope
        slope = slope @ layers[number].T


guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for step in guard.generations(range(1, 601)):
        with guard.phase("forward"):
            kept = forward(rng.standard_normal((96, 128)))
        with guard.phase("backward"):
            backward(kept)
        registry.alive()
