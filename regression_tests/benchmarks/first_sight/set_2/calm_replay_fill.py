"""Q-learning on a noisy line world with a replay buffer that is full after three quarters of the run."""

# /// truth
# about = "a replay buffer of transitions that fills until round 225 of 300, then stays"
# ///
import os
import random
import sys
from collections import deque

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = random.Random(3)
np_rng = np.random.default_rng(3)
CELLS, CAPACITY, STEPS = 24, 36_000, 160


class Transition:
    __slots__ = ("state", "action", "reward", "following", "done")

    def __init__(self, state, action, reward, following, done):
        self.state, self.action, self.reward = state, action, reward
        self.following, self.done = following, done


class LineWorld:
    def __init__(self):
        self.position = 0

    def observe(self):
        state = np_rng.normal(0, 0.05, CELLS).astype(np.float32)
        state[self.position] += 1
        return state

    def step(self, action):
        move = 1 if (action == 1) == (rng.random() < 0.9) else -1
        self.position = min(CELLS - 1, max(0, self.position + move))
        done = self.position == CELLS - 1
        if done:
            self.position = 0
        return self.observe(), 1.0 if done else -0.01, done


def main():
    world = LineWorld()
    replay = deque(maxlen=CAPACITY)
    weights = np.zeros((CELLS, 2), np.float32)
    state = world.observe()
    won = 0
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for round_ in guard.generations(range(1, 301)):
            with guard.phase("act"):
                for _ in range(STEPS):
                    values = state @ weights
                    action = int(values.argmax()) if rng.random() > 0.2 else rng.randrange(2)
                    following, reward, done = world.step(action)
                    replay.append(Transition(state, action, reward, following, done))
                    won += done
                    state = following
            with guard.phase("learn"):
                for _ in range(8):
                    batch = rng.sample(range(len(replay)), 48)
                    batch = [replay[index] for index in batch]
                    states = np.stack([item.state for item in batch])
                    best = (np.stack([item.following for item in batch]) @ weights).max(1)
                    wanted = np.array([item.reward + 0.97 * value * (not item.done) for item, value in zip(batch, best)])
                    actions = np.array([item.action for item in batch])
                    error = wanted - (states @ weights)[np.arange(48), actions]
                    for action in (0, 1):
                        chosen = actions == action
                        weights[:, action] += 0.1 * (states[chosen] * error[chosen, None]).mean(0) if chosen.any() else 0
    print("won", won, "replay", len(replay))


main()
