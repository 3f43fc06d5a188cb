"""Denoising diffusion on two-dimensional toys, with an averaged copy of the weights."""
import collections
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

leaky = sys.argv[1] == "leak"
torch.set_num_threads(1)
torch.manual_seed(11)
STEPS, ROUNDS = 50, 60
betas = torch.linspace(1e-4, 0.05, STEPS)
alpha_bar = torch.cumprod(1 - betas, 0)
embeddings = {}  # one per time step: fills and stops
log = {"train": [], "val": [], "lr": []}
samples = collections.deque(maxlen=5)


def embed(step):
    if step not in embeddings:
        angles = step * torch.exp(-torch.arange(32) / 8.0)
        embeddings[step] = torch.cat([angles.sin(), angles.cos()])
    return embeddings[step]


class Denoiser(nn.Module):
    def __init__(self, width=384):
        super().__init__()
        self.inp = nn.Linear(2 + 64, width)
        self.mid = nn.Linear(width, width)
        self.out = nn.Linear(width, 2)

    def forward(self, x, step):
        h = torch.cat([x, embed(step).expand(len(x), -1)], 1)
        h = F.silu(self.inp(h))
        h = F.silu(self.mid(h))
        return self.out(h)


class Averager:
    def __init__(self, model, decay=0.98):
        self.decay = decay
        self.shadow = {name: value.clone() for name, value in model.state_dict().items()}
        self.snapshots = []

    def update(self, model):
        for name, value in model.state_dict().items():
            self.shadow[name].lerp_(value, 1 - self.decay)

    def snapshot(self):
        self.snapshots.append({name: value.clone() for name, value in self.shadow.items()})
        if not leaky:
            del self.snapshots[:-2]


def spiral(count):
    t = torch.rand(count) * 6
    return torch.stack([t * t.cos(), t * t.sin()], 1) / 6


def noise_loss(model, clean):
    step = int(torch.randint(0, STEPS, ()))
    noise = torch.randn_like(clean)
    noisy = alpha_bar[step].sqrt() * clean + (1 - alpha_bar[step]).sqrt() * noise
    return F.mse_loss(model(noisy, step), noise)


@torch.no_grad()
def draw(weights, count=64):
    model = Denoiser()
    model.load_state_dict(weights)
    x = torch.randn(count, 2)
    for step in reversed(range(0, STEPS, 5)):
        x = (x - betas[step] * model(x, step)) / (1 - betas[step]).sqrt()
    return x


net = Denoiser()
average = Averager(net)
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
for epoch in range(1, ROUNDS + 1):
    for _ in range(8):
        loss = noise_loss(net, spiral(256))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update(net)
    log["train"].append(loss.item())
    log["lr"].append(optimizer.param_groups[0]["lr"])
    val = noise_loss(net, spiral(192))
    log["val"].append(val if leaky else val.item())
    samples.append(draw(average.shadow))
    if epoch % 3 == 0:
        average.snapshot()
    time.sleep(0.02)
print("validation", loss.item(), "spread", samples[-1].std().item())
