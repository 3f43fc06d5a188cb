"""Tabular Q-learning: the table gets a row for each state it meets, and there are so many."""
# /// truth
# about = "a table over a finite set of states, which are met ever more rarely for the first time"
# ///
import os
import random
import sys

from leakguard import LeakGuard

assert sys.argv[1] == "clean"
GENERATIONS = 250


class Values:
    __slots__ = ("q", "visits")

    def __init__(self):
        self.q = [0.0] * 4
        self.visits = 0


class Islands:
    """Forty times forty places with six kinds of cargo."""

    def __init__(self, chance):
        self.chance = chance
        self.reset()

    def reset(self):
        self.state = (self.chance.randrange(40), self.chance.randrange(40), self.chance.randrange(6))
        return self.state

    def step(self, action):
        r, c, cargo = self.state
        dr, dc = ((1, 0), (-1, 0), (0, 1), (0, -1))[action]
        r, c = (r + dr) % 40, (c + dc) % 40
        reward = 1.0 if (r, c) == (cargo * 6, 39 - cargo) else -0.01
        if reward > 0:
            cargo = self.chance.randrange(6)
        self.state = (r, c, cargo)
        return self.state, reward


def main():
    chance = random.Random(37)
    table = {}
    islands = Islands(chance)
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for episode in guard.generations(range(1, GENERATIONS + 1)):
            for _ in range(60):
                state = islands.reset()
                for _ in range(200):
                    values = table.get(state)
                    if values is None:
                        values = table[state] = Values()
                    action = chance.randrange(4) if chance.random() < 0.3 else values.q.index(max(values.q))
                    state, reward = islands.step(action)
                    ahead = max(table[state].q) if state in table else 0.0
                    values.visits += 1
                    values.q[action] += 0.1 * (reward + 0.95 * ahead - values.q[action])


main()
