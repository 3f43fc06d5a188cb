"""Loops that allocate in different ways, to measure what a record of births costs each."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator

import gymnasium
import numpy as np
import torch

Loop = Callable[[], object]
# With it nothing is learnt, so that a step takes as long as each other: what converges to zero has
# denormal gradients, with which a step takes twice as long.
_NOTHING_LEARNT = 0.0


class Node:
    """What a program in objects allocates."""

    def __init__(self, left, right):
        self.left, self.right, self.sizes = left, right, [1.5, 2.5]


def allocations():
    """Allocate and free at once, and nothing else: the most that a record can cost."""
    for number in range(2_000):
        [bytes(40), {}, [number]]


def through_json():
    json.loads(json.dumps(_TABLE))


def objects():
    tree = None
    for _ in range(300):
        tree = Node(tree, (tree, 1))


class Task:
    """One of the tasks that a scheduler runs in turn; it hands on each packet that it gets."""

    def __init__(self, number, scheduler):
        self.number, self.scheduler, self.packets = number, scheduler, deque()

    def run(self):
        while self.packets:
            kind, data, hops = self.packets.popleft()
            if hops:
                other = self.scheduler[(self.number + kind + 1) % len(self.scheduler)]
                other.packets.append(((kind * 5 + 1) % 7, [*data[1:], self.number], hops - 1))


def scheduled():
    """Pass packets among tasks, as an operating system's scheduler does."""
    tasks = []
    tasks.extend(Task(number, tasks) for number in range(6))
    for number in range(8):
        tasks[number % 6].packets.append((number % 7, [1, 2, 3, 4], 60))
    while any(task.packets for task in tasks):
        for task in tasks:
            task.run()


def in_four_threads():
    threads = [threading.Thread(target=_some_json) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _some_json():
    for _ in range(20):
        through_json()


_TABLE = [{"name": f"entry {n}", "values": [n / 7, n, None, "x" * 20]} for n in range(60)]


def episodes() -> Loop:
    """Return a loop that plays an episode in a task of NumPy arrays and keeps its transitions."""
    env = gymnasium.make("Pendulum-v1")
    weights = np.random.default_rng(0).normal(size=(1, 3))

    def play():
        observation, _ = env.reset(seed=0)
        kept, ended = [], False
        while not ended:
            action = np.tanh(weights @ observation)
            after, reward, done, cut, _ = env.step(action)
            kept.append((observation, action, reward, after))
            observation, ended = after, done or cut

    return play


def training(width: int) -> Loop:
    """Return a loop that makes an optimizer's step with two layers of that width."""
    net = torch.nn.Sequential(
        torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width)
    )
    steps = torch.optim.Adam(net.parameters(), lr=_NOTHING_LEARNT)
    batch = torch.ones(64, width)

    def step():
        loss = (net(batch) ** 2).mean()
        steps.zero_grad()
        loss.backward()
        steps.step()

    return step


def recurrent_training() -> Loop:
    """Return a loop that makes an optimizer's step with a GRU over sequences of 32."""
    net, head = torch.nn.GRU(32, 64, batch_first=True), torch.nn.Linear(64, 1)
    steps = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=_NOTHING_LEARNT)
    batch = torch.ones(16, 32, 32)

    def step():
        loss = (head(net(batch)[0]) ** 2).mean()
        steps.zero_grad()
        loss.backward()
        steps.step()

    return step


def ppo() -> Loop:
    """Return a loop that collects 256 steps and learns from them, by stable-baselines3's PPO."""
    from stable_baselines3 import PPO

    model = PPO("MlpPolicy", "CartPole-v1", n_steps=256, batch_size=64, device="cpu", seed=0)
    return lambda: model.learn(256, reset_num_timesteps=False)


def named() -> Iterator[tuple[str, Callable[[], Loop]]]:
    """Yield the loops, each with what makes it."""
    yield "allocations and nothing else", lambda: allocations
    yield "json, dumps and loads", lambda: through_json
    yield "json in four threads", lambda: in_four_threads
    yield "objects", lambda: objects
    yield "scheduled tasks", lambda: scheduled
    yield "episodes of Pendulum-v1", episodes
    yield "torch, MLP of 64, batch of 64", lambda: training(64)
    yield "torch, MLP of 256, batch of 64", lambda: training(256)
    yield "torch, GRU of 64", recurrent_training
    yield "stable-baselines3, PPO", ppo
