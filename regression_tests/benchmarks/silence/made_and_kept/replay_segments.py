"""An actor that collects segments and a learner that replays the recent ones."""
import os
import sys
import uuid
from collections import deque

import numpy as np
import torch
from torch import nn

from leakguard import LeakGuard

MODE = sys.argv[1] if len(sys.argv) > 1 else "fixed"
ROUNDS = 24
torch.set_num_threads(1)


class Segment:
    def __init__(self, observations, returns):
        self.uid = uuid.uuid4().hex
        self.observations = observations
        self.returns = returns


class Telemetry:
    """Tells every listener about a loss."""

    def __init__(self):
        self._listeners = []

    def on_loss(self, callback):
        self._listeners.append(callback)

    def off_loss(self, callback):
        self._listeners.remove(callback)

    def loss(self, round_number, value):
        for callback in self._listeners:
            callback(round_number, value)


class RoundProbe:
    """Histogram of the losses of one round."""

    def __init__(self, round_number):
        self.round_number = round_number
        self.bins = np.full((25, 1000), 1e-6)

    def observe(self, round_number, value):
        if round_number == self.round_number:
            self.bins[int(value * 10) % 25] += 1.0


class SegmentStore:
    """The newest segments, with an index by uid for the replay service."""

    def __init__(self, limit):
        self.limit = limit
        self.order = deque()
        self.index = {}

    def add(self, segment):
        self.order.append(segment.uid)
        self.index[segment.uid] = segment
        while len(self.order) > self.limit:
            stale = self.order.popleft()
            if MODE == "fixed":
                del self.index[stale]

    def recent(self):
        return [self.index[uid] for uid in self.order]


class Actor:
    def __init__(self, seed):
        self.rng = torch.Generator().manual_seed(seed)

    def collect(self):
        observations = torch.empty(600, 240)
        state = torch.randn(240, generator=self.rng)
        for step in range(600):
            state = 0.9 * state + 0.1 * torch.randn(240, generator=self.rng)
            observations[step] = state
        returns = observations.mean(dim=1, keepdim=True).cumsum(0)
        return Segment(observations, returns)


class Learner:
    def __init__(self, telemetry):
        self.telemetry = telemetry
        self.model = nn.Sequential(nn.Linear(240, 64), nn.ReLU(), nn.Linear(64, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)

    def fit(self, round_number, segments):
        probe = RoundProbe(round_number)
        self.telemetry.on_loss(probe.observe)
        for segment in segments:
            self.optimizer.zero_grad()
            loss = (self.model(segment.observations) - segment.returns).pow(2).mean()
            loss.backward()
            self.optimizer.step()
            self.telemetry.loss(round_number, loss.item())
        if MODE == "fixed":
            self.telemetry.off_loss(probe.observe)
        return float(probe.bins.sum())


def main():
    torch.manual_seed(5)
    store, telemetry = SegmentStore(limit=4), Telemetry()
    actor, learner = Actor(11), Learner(telemetry)
    guard = LeakGuard(out=os.environ.get("OUT", "run.jsonl"))
    with guard:
        for number in guard.generations(range(1, ROUNDS + 1)):
            with guard.phase("collect"):
                for _ in range(2):
                    store.add(actor.collect())
            with guard.phase("learn"):
                total = learner.fit(number, store.recent())
    print("done", len(store.recent()), "segments in play, last round", total)


if __name__ == "__main__":
    main()
