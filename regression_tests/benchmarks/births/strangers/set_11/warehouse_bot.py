"""Deep Q-learning of a picking robot on a small warehouse floor."""
import io
import random
import sys
import weakref
from collections import deque

import numpy as np
import torch
from torch import nn
from leakguard import LeakGuard

TIDY = sys.argv[1] == "fixed"
ROUNDS, SAVE_FROM, SIDE, MAX_STEPS = 90, 31, 12, 40
CELLS = [(row, column) for row in range(SIDE) for column in range(SIDE)]
MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))


class Collision(Exception): ...


class Floor:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.reset()

    def reset(self):
        self.robot, self.goal, *self.shelves = self.rng.sample(CELLS, 42)

    def view(self):
        planes = np.zeros((3, SIDE, SIDE), np.float32)
        planes[0][self.robot] = planes[1][self.goal] = 1.0
        planes[2][tuple(zip(*self.shelves))] = 1.0
        return planes

    def step(self, move):
        cell = self.robot[0] + MOVES[move][0], self.robot[1] + MOVES[move][1]
        if cell in self.shelves or cell not in CELLS:
            raise Collision(cell)
        self.robot = cell
        return self.view(), 1.0 if cell == self.goal else -0.01, cell == self.goal


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(3 * SIDE * SIDE, 128)
        self.head = nn.Sequential(nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, planes):
        return self.head(self.trunk(planes.flatten(1)))

    @torch.no_grad()
    def greedy(self, planes):
        return self(torch.from_numpy(planes)).argmax(1).tolist()


class Collector:
    def __init__(self, net, capacity=1200):
        self.net, self.floor, self.dice = net, Floor(7), random.Random(8)
        self.memory, self.crashes = deque(maxlen=capacity), []

    def episode(self):
        track = np.full((MAX_STEPS, 3, SIDE, SIDE), -1.0, np.float32)
        self.floor.reset()
        track[0] = self.floor.view()
        try:
            for t in range(1, MAX_STEPS):
                move = self.dice.choice([0, 1, 2, 3, *self.net.greedy(track[t - 1:t]) * 6])
                track[t], reward, done = self.floor.step(move)
                self.memory.append((track[t - 1].copy(), move, reward, track[t].copy(), done))
        except Collision as crash:
            self.memory.append((track[t - 1].copy(), move, -1.0, track[t - 1].copy(), True))
            self.crashes.append(crash.args if TIDY else crash)
        return t


def learn(net, optimizer, memory, dice, batches=10):
    for _ in range(batches):
        rows = zip(*(dice.choice(memory) for _ in range(96)))
        here, move, reward, there, done = (torch.from_numpy(np.array(column)) for column in rows)
        goal = reward.float() + 0.95 * net(there).amax(1).detach() * ~done
        loss = nn.functional.smooth_l1_loss(net(here).gather(1, move[:, None])[:, 0], goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


class Checkpoints:
    closing, stored = None, 0

    def store(self, blob):
        self.stored = len(blob)

    def save(self, net):
        buffer = io.BytesIO()
        torch.save(net.state_dict(), buffer)
        if TIDY and self.closing is not None:
            self.closing.detach()
        self.closing = weakref.finalize(net, self.store, buffer.getvalue())


class Probe:
    def __init__(self, layer):
        self.active, self.outputs = True, []
        self.handle = layer.register_forward_hook(self.note)

    def note(self, layer, inputs, output):
        if self.active:
            self.outputs.append(output.detach())

    def finish(self):
        self.active = False
        if TIDY:
            self.handle.remove()
        return int((torch.cat(self.outputs).amax(0) <= 0).sum())


def evaluate(net, seed, crew=12, steps=16):
    floors, probe, home = [Floor(seed * 100 + i) for i in range(crew)], Probe(net.trunk), 0
    for _ in range(steps):
        for floor, move in zip(floors, net.greedy(np.stack([f.view() for f in floors]))):
            try:
                home += floor.step(move)[2]
            except Collision:
                floor.reset()
    return home, probe.finish()


torch.set_num_threads(1)
torch.manual_seed(3)
net = QNet()
collector, checkpoints, table = Collector(net), Checkpoints(), []
optimizer, dice = torch.optim.Adam(net.parameters(), lr=5e-4), random.Random(9)
guard = LeakGuard(out=sys.argv[2])
with guard:
    for n in guard.generations(range(1, ROUNDS + 1)):
        with guard.phase("collect"):
            length = sum(collector.episode() for _ in range(8)) / 8
        with guard.phase("learn"):
            loss = learn(net, optimizer, collector.memory, dice)
        if n >= SAVE_FROM:
            with guard.phase("checkpoint"):
                checkpoints.save(net)
        with guard.phase("evaluate"):
            home, idle = evaluate(net, n)
        table.append((n, length, loss, home, idle))
print(f"rounds {len(table)}, crashes {len(collector.crashes)}, home {table[-1][3]}, loss {table[-1][2]:.4f}")

