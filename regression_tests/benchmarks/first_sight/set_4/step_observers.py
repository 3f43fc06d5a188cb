"""A trainer of word vectors with observers that are composed into one function."""

# /// truth
# about = """a class attribute that is wrapped in one more closure each generation, where each
# closure keeps the vocabulary sample that it was made with, and the losses it noted since"""
# [[leak]]
# type = ["function", "cell", "tuple", "list", "dict", "str"]
# holder = ["on_step_end", "__closure__"]
# phase = ["prepare", "train"]
# start = 1
# ///
import os
import random
import sys
from collections.abc import Callable

import numpy as np

from leakguard import LeakGuard

START_FRESH = sys.argv[1] == "clean"
GENERATIONS = 240
WORDS, WIDTH = 2_000, 24

Observer = Callable[[int, float], None]


def silent(step: int, loss: float) -> None:
    """The observer that does nothing."""


class Trainer:
    """Skip-gram with negative sampling, on made-up pairs of words."""

    on_step_end: Observer = silent

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.center = self.rng.normal(0.0, 0.1, (WORDS, WIDTH))
        self.context = self.rng.normal(0.0, 0.1, (WORDS, WIDTH))

    def step(self, number: int) -> None:
        centers = self.rng.integers(0, WORDS, 256)
        contexts = (centers + self.rng.integers(1, 5, 256)) % WORDS
        negatives = self.rng.integers(0, WORDS, 256)
        loss = 0.0
        for others, label in ((contexts, 1.0), (negatives, 0.0)):
            left, right = self.center[centers], self.context[others]
            score = 1.0 / (1.0 + np.exp(-(left * right).sum(axis=1)))
            error = (score - label)[:, None]
            np.add.at(self.center, centers, -0.05 * error * right)
            np.add.at(self.context, others, -0.05 * error * left)
            loss += float(np.square(error).mean())
        type(self).on_step_end(number, loss)


def also_watch(before: Observer, words: list[str], losses: list[float]) -> Observer:
    """An observer that calls the one before and notes losses while `words` are trained."""
    longest = max(words, key=len)

    def observe(step: int, loss: float) -> None:
        before(step, loss)
        if step % len(longest) == 0 and words:
            losses.append(loss)

    return observe


def main() -> None:
    draw = random.Random(17)
    trainer = Trainer(seed=17)
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for _ in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("prepare"):
                words = ["".join(draw.choices("aeioulnrst", k=7)) for _ in range(250)]
                losses: list[float] = []
                before = silent if START_FRESH else Trainer.on_step_end
                Trainer.on_step_end = staticmethod(also_watch(before, words, losses))
            with guard.phase("train"):
                for number in range(25):
                    trainer.step(number)
            with guard.phase("report"):
                assert np.mean(losses) > 0.0


if __name__ == "__main__":
    main()
