"""Denoiser training with stress tests that run in a worker thread while the next round trains."""
import asyncio
import copy
import time
from collections import deque
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"


class Config(NamedTuple):
    width: int
    layers: int
    batch: int
    eval_rows: int
    steps: int
    rounds: int


CFG = Config(512, 5, 512, 1024, 120, 36) if device == "cuda" else Config(96, 4, 64, 768, 30, 36)
SIGNAL = 256 if device == "cuda" else 64


class Diverged(RuntimeError):
    pass


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        sizes = [SIGNAL] + [CFG.width] * (CFG.layers - 1)
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.out = nn.Linear(CFG.width, SIGNAL)

    def forward(self, x):
        for layer in self.hidden:
            x = F.silu(layer(x))
        return self.out(x)


def signals(n, noise):
    t = torch.linspace(0, 6.28, SIGNAL, device=device)
    freq = torch.rand(n, 1, device=device) * 8 + 1
    clean = torch.sin(freq * t)
    return clean, clean + noise * torch.randn_like(clean)


def layerwise(model, x):
    """Forward pass that returns every hidden activation, to find the layer that blows up."""
    activations = [x]
    for layer in model.hidden:
        x = F.silu(layer(x))
        activations.append(x)
    return model.out(x), activations


def stress_case(model, noise, limit):
    clean, noisy = signals(CFG.eval_rows, noise)
    restored, activations = layerwise(model, noisy)
    peaks = [float(a.abs().max()) for a in activations]
    if max(peaks) > limit:
        raise Diverged(f"noise {noise:g}: peak {max(peaks):.1f} in layer {peaks.index(max(peaks))}")
    return F.mse_loss(restored, clean).item()


class StressTester:
    NOISES = (0.1, 0.3, 1.0, 40.0)

    def __init__(self, limit):
        self.limit = limit
        self.failures = deque(maxlen=16)
        self.scores = deque(maxlen=64)

    @torch.no_grad()
    def run(self, model):
        for noise in self.NOISES:
            try:
                self.scores.append(stress_case(model, noise, self.limit))
            except Diverged as err:
                self.failures.append(str(err))
        return sum(list(self.scores)[-3:]) / 3


class Averager:
    """Exponential moving average of the weights, what the stress tests see."""

    def __init__(self, model, decay=0.98):
        self.shadow = copy.deepcopy(model).requires_grad_(False).eval()
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.lerp_(p, 1 - self.decay)

    def frozen(self):
        return copy.deepcopy(self.shadow)


def train_round(model, optimizer, averager):
    total = torch.zeros((), device=device)
    for _ in range(CFG.steps):
        clean, noisy = signals(CFG.batch, 0.3)
        loss = F.mse_loss(model(noisy), clean)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        averager.update(model)
        total += loss.detach()
    return total.item() / CFG.steps


async def main():
    torch.manual_seed(11)
    model = Denoiser().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    averager = Averager(model)
    tester = StressTester(limit=25.0)
    best, best_weights = float("inf"), None
    pending = None
    started = time.monotonic()
    for round_no in range(CFG.rounds):
        train_loss = await asyncio.to_thread(train_round, model, optimizer, averager)
        if pending is not None:
            score = await pending
            if score < best:
                best, best_weights = score, averager.frozen().state_dict()
        pending = asyncio.create_task(asyncio.to_thread(tester.run, averager.frozen()))
        if round_no % 6 == 0:
            print(f"round {round_no:3d} loss {train_loss:.4f} best {best:.4f} failures {len(tester.failures)} "
                  f"{time.monotonic() - started:.1f}s", flush=True)
    await pending
    print(f"best {best:.4f}; {len(tester.failures)} stress cases diverged, last: {tester.failures[-1]}")


if __name__ == "__main__":
    asyncio.run(main())
