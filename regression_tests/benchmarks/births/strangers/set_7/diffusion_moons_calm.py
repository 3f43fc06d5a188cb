"""Denoising diffusion on two moons, with sample tracking and checkpoints."""
import copy
import sys

import numpy as np
import torch
from torch import nn

from leakguard import LeakGuard

torch.set_num_threads(1)
torch.manual_seed(7)
ROUNDS = 30
STEPS = 15
betas = torch.linspace(1e-4, 0.2, STEPS)
alpha_bar = torch.cumprod(1 - betas, 0)
_embeddings = {}


def time_embedding(t):
    if t not in _embeddings:
        freqs = torch.exp(torch.arange(16) * -0.3)
        _embeddings[t] = torch.cat([torch.sin(t * freqs), torch.cos(t * freqs)])
    return _embeddings[t]


def moons(n):
    angle = torch.rand(n) * np.pi
    upper = torch.rand(n) < 0.5
    x = torch.where(upper, torch.cos(angle), 1 - torch.cos(angle))
    y = torch.where(upper, torch.sin(angle), 0.5 - torch.sin(angle))
    return torch.stack([x, y], 1) + 0.05 * torch.randn(n, 2)


class Denoiser(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(34, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, x, t):
        emb = torch.stack([time_embedding(int(k)) for k in t]) if t.ndim else time_embedding(int(t)).expand(len(x), -1)
        return self.net(torch.cat([x, emb], 1))


class SampleMonitor:
    def __init__(self):
        self.trajectory = None
        self.recent = np.zeros((8, 1000, 2), dtype=np.float32)
        self.cursor = 0

    def track(self, start, end):
        self.trajectory = np.stack([start.numpy(), end.numpy()], axis=1)
        self.recent[self.cursor % 8] = end[:1000].numpy()
        self.cursor += 1

    def drift(self):
        return float(np.abs(self.trajectory[:, 1].mean(0)).sum())


def checkpoint(model, number, saved, keep=3):
    state = {name: value.detach().clone() for name, value in model.state_dict().items()}
    saved[number] = state
    while len(saved) > keep:
        del saved[min(saved)]
    return len(saved)


class Ema:
    def __init__(self, model, decay=0.98):
        self.model = copy.deepcopy(model)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for slow, fast in zip(self.model.parameters(), model.parameters()):
            slow.mul_(self.decay).add_(fast, alpha=1 - self.decay)


def train(model, ema, optimizer):
    total = 0.0
    for _ in range(12):
        x0 = moons(256)
        t = torch.randint(0, STEPS, (256,))
        noise = torch.randn_like(x0)
        a = alpha_bar[t][:, None]
        loss = (model(a.sqrt() * x0 + (1 - a).sqrt() * noise, t) - noise).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)
        total += loss.item()
    return total / 12


@torch.no_grad()
def sample(model, n=10000):
    start = x = torch.randn(n, 2)
    for k in range(STEPS - 1, -1, -1):
        eps = model(x, torch.tensor(k))
        x = (x - betas[k] / (1 - alpha_bar[k]).sqrt() * eps) / (1 - betas[k]).sqrt()
        if k:
            x = x + betas[k].sqrt() * torch.randn_like(x)
    return start, x


def main():
    model = Denoiser()
    ema = Ema(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    monitor = SampleMonitor()
    saved = {}
    best = (float("inf"), None)
    guard = LeakGuard(out=sys.argv[1] if len(sys.argv) > 1 else "run.jsonl")
    with guard:
        for number in guard.generations(range(1, ROUNDS + 1)):
            with guard.phase("train"):
                loss = train(model, ema, optimizer)
            with guard.phase("sample"):
                start, end = sample(ema.model)
            with guard.phase("track"):
                monitor.track(start, end)
            with guard.phase("checkpoint"):
                if loss < best[0]:
                    best = (loss, copy.deepcopy(ema.model.state_dict()))
                if number >= 8:
                    checkpoint(model, number, saved)
    print("loss", round(loss, 3), "best", round(best[0], 3), "drift", round(monitor.drift(), 3))


main()
