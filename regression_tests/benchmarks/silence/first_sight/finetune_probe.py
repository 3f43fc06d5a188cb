"""Fine-tune a small transformer block and probe its activations once per epoch."""
import os, sys

import torch
import torch.nn as nn
import torch.nn.functional as F

from leakguard import LeakGuard

torch.set_num_threads(1)
torch.manual_seed(4)

mode = sys.argv[1]
epochs, steps = 26, 6
vocab, seq, dim = 64, 20, 48


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x, mask):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class TinyGPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, dim), nn.Embedding(seq, dim)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(dim, vocab)
        self.register_buffer("mask", torch.triu(torch.full((seq, seq), float("-inf")), 1))

    def forward(self, idx):
        x = self.tok(idx) + self.pos(torch.arange(idx.size(1)))
        for block in self.blocks:
            x = block(x, self.mask)
        return self.head(x)


def attach_probes(model):
    """Captures the output of every MLP; returns the captures and the hook handles."""
    captured, handles = {}, []

    def probe_for(name):
        def hook(module, args, output):
            captured[name] = output.detach().clone()
        return hook

    for i, block in enumerate(model.blocks):
        handles.append(block.mlp.register_forward_hook(probe_for(f"mlp{i}")))
    return captured, handles


def batch(gen, n=16):
    # a copy task: the second half of a sequence repeats the first
    half = torch.randint(1, vocab, (n, seq // 2), generator=gen)
    return torch.cat([half, half], dim=1)


def train(model, opt, gen):
    total = 0.0
    for _ in range(steps):
        idx = batch(gen)
        logits = model(idx)
        loss = F.cross_entropy(logits[:, :-1].reshape(-1, vocab), idx[:, 1:].reshape(-1))
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        total += loss.item()
    return total / steps


def probe(model, gen):
    captured, handles = attach_probes(model)
    with torch.no_grad():
        model(batch(gen, 16))
    sparsity = {name: (act.abs() < 0.05).float().mean().item() for name, act in captured.items()}
    if mode != "leak":
        for handle in handles:
            handle.remove()
    return sparsity


gen = torch.Generator().manual_seed(12)
model = TinyGPT()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
log = []
guard = LeakGuard(out=os.environ.get("OUT", "run.jsonl"))
with guard:
    for epoch in guard.generations(range(epochs)):
        with guard.phase("train"):
            loss = train(model, opt, gen)
        with guard.phase("probe"):
            sparsity = probe(model, gen)
        log.append((epoch, loss, sparsity["mlp0"]))
        if epoch % 6 == 0:
            print(f"epoch {epoch}: loss {loss:.3f} sparsity {sparsity['mlp0']:.3f}/{sparsity['mlp1']:.3f}")
print(f"last loss {log[-1][1]:.3f}")
