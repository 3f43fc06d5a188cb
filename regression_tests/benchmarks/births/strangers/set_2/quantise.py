"""Quantisation-aware training: after a warm-up, observers collect activations to choose the scales."""
import sys
import time
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
torch.set_num_threads(1)
torch.manual_seed(23)
EPOCHS, CALIBRATE_FROM, RESERVOIR = 50, 13, 20_000


class PercentileObserver(nn.Module):
    """Sees every activation and proposes a clipping range."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.empty(0), persistent=False)
        self.enabled = False

    def forward(self, x):
        if self.enabled:
            self.seen = torch.cat([self.seen, x.detach().flatten()])
            if not LEAK:
                self.seen = self.seen[-RESERVOIR:].clone()
        return x

    def scale(self):
        return float(self.seen[-RESERVOIR:].abs().quantile(0.999)) / 127 if len(self.seen) else 0.05


def fake_quantise(x, scale):
    rounded = (x / scale).round().clamp(-127, 127) * scale
    return x + (rounded - x).detach()


class QuantNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(50, 160)
        self.observer = PercentileObserver()
        self.second = nn.Linear(160, 9)
        self.quantised = False

    def forward(self, x):
        hidden = self.observer(F.relu(self.first(x)))
        if self.quantised:
            hidden = fake_quantise(hidden, self.observer.scale())
        return self.second(hidden)


def batch(count=128):
    x = torch.randn(count, 50)
    return x, x[:, :9].argmax(1)


def train(net, optimizer):
    for _ in range(5):
        x, y = batch()
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def calibrate(net):
    net.observer.enabled = True
    with torch.no_grad():
        for _ in range(3):
            net(batch(100)[0])
    net.observer.enabled = False
    net.quantised = True
    return net.observer.scale()


def main():
    net = QuantNet()
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    scales, exports = [], deque(maxlen=3)
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for epoch in guard.generations(range(1, EPOCHS + 1)):
            with guard.phase("train"):
                loss = train(net, optimizer)
            if epoch >= CALIBRATE_FROM:
                with guard.phase("calibrate"):
                    scales.append(calibrate(net))
            with guard.phase("export"):
                scale = scales[-1] if scales else 0.05
                exports.append({k: (v / scale).round().to(torch.int8) for k, v in net.state_dict().items()})
            time.sleep(0.05)
    print("loss", round(loss, 3), "scale", scales[-1])


main()
