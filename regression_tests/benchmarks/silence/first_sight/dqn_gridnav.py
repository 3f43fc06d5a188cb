"""DQN with (almost) prioritised replay on a small grid navigation task."""
import os
import random
import sys
from dataclasses import dataclass
from typing import Optional

import numpy as np
import torch
from torch import nn

from leakguard import LeakGuard

torch.set_num_threads(1)
torch.manual_seed(0)
random.seed(0)
MODE = sys.argv[1]
SIZE, ROUNDS, STEPS = 9, 40, 120
CAPACITY = 1800


@dataclass
class Transition:
    tid: int
    obs: np.ndarray
    action: int
    reward: float
    nxt: np.ndarray
    done: bool


class GridNav:
    MOVES = [(0, 1), (0, -1), (1, 0), (-1, 0)]

    def reset(self):
        self.pos = [random.randrange(SIZE), random.randrange(SIZE)]
        self.goal = (random.randrange(SIZE), random.randrange(SIZE))
        self.left = 40
        return self.obs()

    def obs(self):
        grid = np.zeros((2, SIZE, SIZE), dtype=np.float32)
        grid[0, self.pos[0], self.pos[1]] = 1
        grid[1, self.goal[0], self.goal[1]] = 1
        return grid.ravel()

    def step(self, a):
        for i in (0, 1):
            self.pos[i] = min(SIZE - 1, max(0, self.pos[i] + self.MOVES[a][i]))
        self.left -= 1
        won = tuple(self.pos) == self.goal
        return self.obs(), 1.0 if won else -0.02, won or self.left == 0


class Replay:
    def __init__(self, capacity):
        self.ring: list[Optional[Transition]] = [None] * capacity
        self.by_id: dict[int, Transition] = {}
        self.priority: dict[int, float] = {}
        self.count = 0

    def add(self, *fields):
        slot = self.count % len(self.ring)
        evicted = self.ring[slot]
        if evicted is not None and MODE == "fixed":
            del self.by_id[evicted.tid]
            del self.priority[evicted.tid]
        item = Transition(self.count, *fields)
        self.ring[slot] = item
        self.by_id[item.tid] = item
        self.priority[item.tid] = 1.0
        self.count += 1

    def sample(self, n):
        live = min(self.count, len(self.ring))
        ids = [self.ring[i].tid for i in random.sample(range(live), min(live, 2 * n))]
        ids.sort(key=self.priority.__getitem__, reverse=True)
        return [self.by_id[i] for i in ids[:n]]


def build():
    return nn.Sequential(nn.Linear(2 * SIZE * SIZE, 64), nn.ReLU(), nn.Linear(64, 4))


q, target, replay, env = build(), build(), Replay(CAPACITY), GridNav()
opt = torch.optim.Adam(q.parameters(), lr=1e-3)


def collect(obs, eps):
    total = 0.0
    for _ in range(STEPS):
        if random.random() < eps:
            a = random.randrange(4)
        else:
            with torch.no_grad():
                a = int(q(torch.from_numpy(obs)).argmax())
        nxt, r, done = env.step(a)
        replay.add(obs, a, r, nxt, done)
        total += r
        obs = env.reset() if done else nxt
    return obs, total


def learn(batches=24, n=64):
    for _ in range(batches):
        batch = replay.sample(n)
        o = torch.from_numpy(np.stack([t.obs for t in batch]))
        a = torch.tensor([t.action for t in batch])
        with torch.no_grad():
            nq = target(torch.from_numpy(np.stack([t.nxt for t in batch]))).max(1).values
            goal = torch.tensor([t.reward for t in batch]) + 0.97 * nq * torch.tensor([not t.done for t in batch])
        err = q(o).gather(1, a[:, None]).squeeze(1) - goal
        opt.zero_grad()
        err.pow(2).mean().backward()
        opt.step()
        for t, e in zip(batch, err.tolist()):
            replay.priority[t.tid] = abs(e)


obs = env.reset()
guard = LeakGuard(out=os.environ.get("OUT", "run.jsonl"))
with guard:
    for rnd in guard.generations(range(ROUNDS)):
        with guard.phase("collect"):
            obs, score = collect(obs, eps=max(0.1, 1 - rnd / 20))
        with guard.phase("learn"):
            learn()
        if rnd % 5 == 0:
            target.load_state_dict(q.state_dict())
            print(f"round {rnd}: reward {score:.2f}, replay {min(replay.count, CAPACITY)}")
