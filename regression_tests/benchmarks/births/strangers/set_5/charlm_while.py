# Small character-level GPT on synthetic text. Plain script, no framework.
import math
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

device = "cuda" if torch.cuda.is_available() else "cpu"
if device == "cuda":
    n_layer, n_embd, n_head, block, batch, accum = 4, 256, 4, 128, 32, 8
    val_batch, val_block = 8, 64
else:
    n_layer, n_embd, n_head, block, batch, accum = 2, 64, 4, 32, 8, 3
    val_batch, val_block = 16, 32
vocab = 96
max_steps = 120
eval_interval = 4
warmup, base_lr = 10, 6e-4

torch.manual_seed(1337)
rng = np.random.default_rng(1337)


def make_corpus(n):
    """A first-order Markov chain over the alphabet: enough structure to learn something."""
    nxt = rng.integers(0, vocab, size=(vocab, 4))
    picks = rng.integers(0, 4, size=n)
    text = np.zeros(n, dtype=np.int64)
    for i in range(1, n):
        text[i] = nxt[text[i - 1], picks[i]]
    return torch.from_numpy(text)


class CausalSelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(n_embd, 3 * n_embd)
        self.proj = nn.Linear(n_embd, n_embd)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(x).split(C, dim=2)
        q, k, v = (t.view(B, T, n_head, C // n_head).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention()
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(vocab, n_embd)
        self.pos = nn.Embedding(block, n_embd)
        self.blocks = nn.ModuleList(Block() for _ in range(n_layer))
        self.ln = nn.LayerNorm(n_embd)
        self.head = nn.Linear(n_embd, vocab, bias=False)

    def forward(self, idx, targets):
        x = self.tok(idx) + self.pos(torch.arange(idx.shape[1], device=idx.device))
        for blk in self.blocks:
            x = blk(x)
        logits = self.head(self.ln(x))
        return F.cross_entropy(logits.view(-1, vocab), targets.reshape(-1))


corpus = make_corpus(60_000)
split = int(0.9 * len(corpus))
train_data, val_data = corpus[:split].to(device), corpus[split:].to(device)


def get_batch(data, rows, length):
    starts = torch.randint(0, len(data) - length - 1, (rows, 1), device=device)
    at = starts + torch.arange(length, device=device)
    return data[at], data[at + 1]


def lr_at(step):
    if step < warmup:
        return base_lr * (step + 1) / warmup
    return base_lr * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (max_steps - warmup)))


model = GPT().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=base_lr, betas=(0.9, 0.95), weight_decay=0.1)
print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f}M parameters on {device}", flush=True)

best_val = float("inf")
best_ckpt = None
val_ema = None
train_curve = []
step = 0
t0 = time.time()
while step < max_steps:
    for group in optimizer.param_groups:
        group["lr"] = lr_at(step)

    running = 0.0
    for _ in range(accum):
        xb, yb = get_batch(train_data, batch, block)
        loss = model(xb, yb) / accum
        loss.backward()
        running += loss.detach()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    train_curve.append(float(running))

    if step % eval_interval == 0:
        model.eval()
        xv, yv = get_batch(val_data, val_batch, val_block)
        val_loss = model(xv, yv)
        val_ema = val_loss if val_ema is None else 0.8 * val_ema + 0.2 * val_loss
        model.train()
        if val_ema < best_val:
            best_val = val_ema.item()
            best_ckpt = {k: v.detach().clone() for k, v in model.state_dict().items()}
        if step % (5 * eval_interval) == 0:
            print(f"step {step:4d} train {train_curve[-1]:.4f} val(ema) {val_ema.item():.4f} "
                  f"{time.time() - t0:.1f}s", flush=True)
    step += 1

print(f"done: best smoothed val {best_val:.4f}, final train {np.mean(train_curve[-10:]):.4f}")
