"""Transitions are logged while playing, and from the 60th round on while evaluating too."""

# /// truth
# about = "one class leaks in two phases, into two lists, the second from round 60 on"
# [[leak]]
# type = "Transition"
# holder = ["played"]
# phase = "play"
# start = 1
# [[leak]]
# type = "Transition"
# holder = ["failures"]
# phase = "evaluate"
# start = 60
# ///
import os
import random
import sys
from dataclasses import dataclass, field

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
random.seed(6)


@dataclass
class Transition:
    state: int
    action: int
    reward: float
    info: dict = field(default_factory=dict)


class History:
    def __init__(self) -> None:
        self.played: list[Transition] = []

    def add(self, step: Transition) -> None:
        self.played.append(step)
        if not LEAK:
            del self.played[:-40]


class Evaluation:
    def __init__(self) -> None:
        self.failures: list[Transition] = []
        self.enabled = False

    def check(self, step: Transition) -> None:
        if self.enabled and step.reward < 0.1:
            self.failures.append(step)

    def begin(self) -> None:
        if not LEAK:
            self.failures.clear()


def episode(length: int):
    state = 0
    for _ in range(length):
        state = (state * 1_103_515_245 + 12_345 + random.randrange(7)) % 2**31
        yield Transition(state, state % 4, random.random(), {"lives": state % 3})


history, evaluation = History(), Evaluation()
table = [0.0] * 5_000
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for number in guard.generations(range(1, 221)):
        evaluation.enabled = number >= 60
        with guard.phase("play"):
            for step in episode(20):
                history.add(step)
        with guard.phase("learn"):
            for _ in range(12_000):
                place = random.randrange(5_000)
                table[place] += 0.1 * (random.random() - table[place])
        with guard.phase("evaluate"):
            evaluation.begin()
            for step in episode(300):
                evaluation.check(step)
        step = None
