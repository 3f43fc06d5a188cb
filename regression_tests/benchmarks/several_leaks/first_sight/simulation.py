"""Agents walk through a world; a recorder keeps frames of it."""
import random
import sys
import time
from collections import deque

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"


class Observation:
    def __init__(self, tick):
        self.tick = tick
        self.distances = [random.random() for _ in range(60)]


class Agent:
    def __init__(self, name):
        self.name = name
        self.memory = [] if LEAK else deque(maxlen=5)
        self.position = np.zeros(2)

    def step(self, tick):
        self.position += np.random.normal(size=2)
        self.memory.append(Observation(tick))


class Recorder:
    def __init__(self):
        self.frames = {}

    def record(self, tick, agents):
        frame = np.zeros((200, 200))
        for agent in agents:
            x, y = (np.abs(agent.position).astype(int) % 200)
            frame[x, y] += 1
        self.frames[tick if LEAK else tick % 6] = frame


class World:
    def __init__(self):
        self.agents = [Agent(f"agent-{i}") for i in range(40)]
        self.recorder = Recorder()
        self.terrain = {}

    def chunk(self, tick):
        key = min(tick, 14)
        if key not in self.terrain:
            self.terrain[key] = np.random.random((100, 100))
        return self.terrain[key]


def main():
    world = World()
    with LeakGuard(out=sys.argv[2]) as guard:
        for tick in guard.generations(range(50)):
            with guard.phase("step"):
                for agent in world.agents:
                    agent.step(tick)
                time.sleep(0.04)
            with guard.phase("record"):
                world.recorder.record(tick, world.agents)
            with guard.phase("terrain"):
                world.chunk(tick).sum()
                time.sleep(0.03)


if __name__ == "__main__":
    main()
