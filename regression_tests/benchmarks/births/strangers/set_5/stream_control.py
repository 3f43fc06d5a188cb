"""Recurrent controller that acts in batched plants, learns from replay and from a sensor feed."""
import queue
import threading

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

HAVE_GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if HAVE_GPU else "cpu")
PLANTS = 64 if HAVE_GPU else 16
HIDDEN = 256 if HAVE_GPU else 96
STEPS = 32 if HAVE_GPU else 16
UPDATES = 5 if HAVE_GPU else 2
FRAMES = (64, 4096) if HAVE_GPU else (32, 1024)
EPISODES = 90
OBS, ACT = 32, 6


class SensorFeed(threading.Thread):
    """Makes frames ahead of time, in page-locked memory, for asynchronous copies."""

    def __init__(self):
        super().__init__(daemon=True)
        self.ready = queue.Queue(maxsize=3)
        self.stop = threading.Event()
        self.in_flight = []

    def run(self):
        rng = np.random.default_rng(0)
        while not self.stop.is_set():
            frame = torch.empty(FRAMES, pin_memory=HAVE_GPU)
            frame.numpy()[:] = rng.random(FRAMES, dtype=np.float32)
            while not self.stop.is_set():
                try:
                    self.ready.put(frame, timeout=0.2)
                    break
                except queue.Full:
                    continue

    def fetch(self):
        frame = self.ready.get()
        on_device = frame.to(DEVICE, non_blocking=True)
        done = None
        if HAVE_GPU:
            done = torch.cuda.Event()
            done.record()
        # the copy is asynchronous: the source must outlive it
        self.in_flight.append((frame, done))
        return on_device


class EpisodeRing:
    """The last episodes, on the device."""

    def __init__(self, capacity):
        self.obs = torch.zeros(capacity, STEPS, PLANTS, OBS, device=DEVICE)
        self.act = torch.zeros(capacity, STEPS, PLANTS, dtype=torch.long, device=DEVICE)
        self.count = 0

    def store(self, obs, act):
        at = self.count % len(self.obs)
        self.obs[at], self.act[at] = obs, act
        self.count += 1

    def draw(self):
        at = np.random.randint(min(self.count, len(self.obs)))
        return self.obs[at], self.act[at]


class Controller(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(OBS, HIDDEN)
        self.core = nn.GRUCell(HIDDEN, HIDDEN)
        self.policy = nn.Linear(HIDDEN, ACT)
        self.predict = nn.Linear(HIDDEN, OBS)
        self.sensor = nn.Sequential(nn.Linear(FRAMES[1], 64), nn.ReLU(), nn.Linear(64, FRAMES[1]))
        self.memory = None

    def advance(self, obs, memory):
        return self.core(torch.tanh(self.encode(obs)), memory)

    def act(self, obs):
        """One step in the plants; the memory goes on from episode to episode."""
        if self.memory is None:
            self.memory = torch.zeros(len(obs), HIDDEN, device=obs.device)
        self.memory = self.advance(obs, self.memory)
        logits = self.policy(self.memory)
        return torch.distributions.Categorical(logits=logits.detach()).sample()


class Plants:
    def __init__(self):
        self.drift = torch.randn(OBS, OBS, device=DEVICE) * 0.1
        self.effect = torch.randn(ACT, OBS, device=DEVICE) * 0.3
        self.state = torch.randn(PLANTS, OBS, device=DEVICE)

    def step(self, action):
        self.state = torch.tanh(self.state + self.state @ self.drift + self.effect[action])
        return self.state


def play_episode(controller, plants, ring):
    seen, done = [], []
    obs = plants.state
    for _ in range(STEPS):
        action = controller.act(obs)
        seen.append(obs)
        done.append(action)
        obs = plants.step(action)
    ring.store(torch.stack(seen), torch.stack(done))


def update(controller, optimizer, ring, feed):
    obs, act = ring.draw()
    memory = torch.zeros(PLANTS, HIDDEN, device=DEVICE)
    loss = 0.0
    for t in range(STEPS - 1):
        memory = controller.advance(obs[t], memory)
        loss = loss + F.mse_loss(controller.predict(memory), obs[t + 1])
        loss = loss + 0.01 * F.cross_entropy(controller.policy(memory), act[t])
    frame = feed.fetch()
    loss = loss / STEPS + F.mse_loss(controller.sensor(frame), frame)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(controller.parameters(), 5.0)
    optimizer.step()
    return loss.item()


torch.manual_seed(2)
controller = Controller().to(DEVICE)
optimizer = torch.optim.RMSprop(controller.parameters(), lr=5e-4)
plants, ring, feed = Plants(), EpisodeRing(16), SensorFeed()
feed.start()
curve = []
for episode in range(EPISODES):
    play_episode(controller, plants, ring)
    curve.append(sum(update(controller, optimizer, ring, feed) for _ in range(UPDATES)) / UPDATES)
    if episode % 15 == 0:
        print(f"episode {episode:3d} loss {curve[-1]:.4f}", flush=True)
feed.stop.set()
feed.join()
print(f"loss {curve[0]:.4f} -> {curve[-1]:.4f}")
