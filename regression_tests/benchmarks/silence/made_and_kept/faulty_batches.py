"""An autoencoder on sensor frames; frames with a dead sensor are refused and logged."""
import os
import sys
from collections import Counter, deque

import torch
import torch.nn.functional as F
from torch import nn

from leakguard import LeakGuard

MODE = sys.argv[1] if len(sys.argv) > 1 else "fixed"
ROUNDS = 16
torch.set_num_threads(1)


class DeadSensor(ValueError):
    def __init__(self, step, sensor):
        super().__init__(f"step {step}: sensor {sensor} is dead")
        self.sensor = sensor


class FrameSource:
    """Sensor frames; every fifth has a sensor that reads nothing but zero."""

    def __init__(self, seed):
        self.rng = torch.Generator().manual_seed(seed)

    def draw(self, step):
        frames = torch.randn(500, 1024, generator=self.rng)
        if step % 5 == 2:
            frames[:, step % 1024] = 0.0
        return frames


class FaultLog:
    """What went wrong, for the report of the night shift."""

    def __init__(self):
        self.entries = []
        self.by_sensor = Counter()
        self.latest = deque(maxlen=3)

    def record(self, step, error):
        self.by_sensor[error.sensor % 8] += 1
        self.latest.append(str(error))
        if MODE == "leak":
            self.entries.append((step, error))
        else:
            self.entries.append((step, str(error)))


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(1024, 32)
        self.decode = nn.Linear(32, 1024)

    def forward(self, x):
        return self.decode(torch.tanh(self.encode(x)))


def check(frames, step):
    spread = frames.std(dim=0)
    if float(spread.min()) == 0.0:
        raise DeadSensor(step, int(spread.argmin()))


class Trainer:
    def __init__(self, source, faults):
        self.source = source
        self.faults = faults
        self.model = AutoEncoder()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)

    def learn(self, frames):
        self.optimizer.zero_grad()
        loss = F.mse_loss(self.model(frames), frames)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def attempt(self, step):
        frames = self.source.draw(step)
        try:
            check(frames, step)
            return self.learn(frames)
        except DeadSensor as error:
            self.faults.record(step, error)
        return None

    def run_round(self, number):
        losses = [self.attempt(number * 5 + offset) for offset in range(5)]
        return [loss for loss in losses if loss is not None]


def validate(model, frames):
    with torch.no_grad():
        return F.mse_loss(model(frames), frames).item()


def main():
    torch.manual_seed(2)
    faults = FaultLog()
    trainer = Trainer(FrameSource(4), faults)
    held_out = torch.randn(400, 1024)
    guard = LeakGuard(out=os.environ.get("OUT", "run.jsonl"))
    with guard:
        for number in guard.generations(range(ROUNDS)):
            with guard.phase("train"):
                losses = trainer.run_round(number)
            with guard.phase("validate"):
                score = validate(trainer.model, held_out)
    print(f"loss {losses[-1]:.3f}, held out {score:.3f}, {len(faults.entries)} faults, {faults.latest[-1]}")


if __name__ == "__main__":
    main()
