"""A tiny character transformer: train, sample, log."""
import sys
from collections import OrderedDict

import torch
from torch import nn

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
torch.set_num_threads(1)
torch.manual_seed(5)
TEXT = ("the quick brown fox jumps over the lazy dog while seven wizards box. " * 40)
CHARS = sorted(set(TEXT))
IDS = torch.tensor([CHARS.index(c) for c in TEXT])


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attn = nn.MultiheadAttention(width, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        h = self.n1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.n2(x))


class TinyGPT(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.emb = nn.Embedding(len(CHARS), width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(2))
        self.head = nn.Linear(width, len(CHARS))

    def forward(self, ids):
        x = self.emb(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class ActivationStats:
    """Watches the output of a layer for one epoch."""

    def __init__(self, layer):
        self.sample = None
        self.handle = layer.register_forward_hook(self.hook)

    def hook(self, layer, args, output):
        if self.sample is None:
            self.sample = output.detach().clone()

    def remove(self):
        self.handle.remove()


class Sampler:
    def __init__(self, model):
        self.model = model
        self.features = OrderedDict()

    @torch.no_grad()
    def sample(self, prompt, length=20):
        ids = prompt
        for _ in range(length):
            ids = torch.cat([ids, self.model(ids[:, -32:])[:, -1:].argmax(-1)], 1)
        self.features[id(prompt), len(self.features)] = self.model.emb(ids)
        if FIXED and len(self.features) > 4:
            self.features.clear()
        return "".join(CHARS[i] for i in ids[0].tolist())


class RunLog:
    def __init__(self):
        self.lines = []

    def write(self, epoch, loss, text):
        self.lines.append(f"{epoch:4d} {loss:.4f} {text} " + "-" * 2400)
        if FIXED:
            del self.lines[:-5]


def train(model, optimizer, steps=6):
    stats = ActivationStats(model.blocks[0].mlp)
    for _ in range(steps):
        starts = torch.randint(0, len(IDS) - 33, (8,))
        chunk = torch.stack([IDS[s:s + 33] for s in starts.tolist()])
        loss = nn.functional.cross_entropy(model(chunk[:, :-1]).flatten(0, 1), chunk[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if FIXED:
        stats.remove()
    return loss.item()


model = TinyGPT()
optimizer = torch.optim.AdamW(model.parameters(), 2e-3)
sampler, log = Sampler(model), RunLog()
guard = LeakGuard(out=sys.argv[2])
with guard:
    for epoch in guard.generations(range(60)):
        with guard.phase("train"):
            loss = train(model, optimizer)
        with guard.phase("sample"):
            text = sampler.sample(IDS[epoch:epoch + 80].repeat(8, 1))
        with guard.phase("log"):
            log.write(epoch, loss, text)
print("loss", round(loss, 3), repr(text[-20:]))
