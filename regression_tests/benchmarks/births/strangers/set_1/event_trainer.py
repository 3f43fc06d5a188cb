"""A regression trainer with an event bus: listeners run when an epoch ends."""
import sys

import torch
from torch import nn

FIXED = sys.argv[1] == "fixed"
torch.set_num_threads(1)
torch.manual_seed(50)


class Bus:
    def __init__(self):
        self.listeners = {"epoch_end": [], "stop": []}

    def on(self, event, listener):
        self.listeners[event].append(listener)

    def off(self, event, listener):
        self.listeners[event].remove(listener)

    def emit(self, event, *args):
        for listener in self.listeners[event][-1:]:
            listener(*args)


class Evaluator:
    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        self.x = torch.randn(400, 80, generator=generator)
        self.y = self.x[:, :4].sum(1, keepdim=True)
        self.error = None

    def on_epoch_end(self, model):
        with torch.no_grad():
            self.error = float((model(self.x) - self.y).abs().mean())


bus = Bus()
model = nn.Sequential(nn.Linear(80, 120), nn.ReLU(), nn.Linear(120, 1))
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
curve = []


def train_epoch():
    for _ in range(20):
        x = torch.randn(64, 80)
        loss = nn.functional.mse_loss(model(x), x[:, :4].sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def evaluate(epoch):
    evaluator = Evaluator(epoch)
    bus.on("epoch_end", evaluator.on_epoch_end)
    bus.emit("epoch_end", model)
    if FIXED:
        bus.off("epoch_end", evaluator.on_epoch_end)
    return evaluator.error


for epoch in range(180):
    train_epoch()
    curve.append(evaluate(epoch))
print("error", round(curve[-1], 4))
