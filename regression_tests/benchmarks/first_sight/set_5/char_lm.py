#!/usr/bin/env python
# Small character-level language model, MLP over a fixed context.
import random
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

# /// truth
# about = "a language model trainer that keeps each validation loss with its graph"
# [[leak]]
# type = "Tensor"
# holder = ["val_losses", "history"]
# kind = ["autograd", "tensors"]
# line = ["val_loss = F.cross_entropy(self.model(self.val_x), self.val_y)", "self.val_losses.append(val_loss)", "e = self.emb(x).flatten(1)", "h = torch.tanh(self.fc1(e))", "h = h + torch.tanh(self.fc2(h))", "return self.head(h)"]
# ///

CONTEXT = 10
torch.manual_seed(0)
random.seed(0)
torch.set_num_threads(1)


def make_text(n):
    words = ["".join(random.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(random.randint(2, 7))) for _ in range(120)]
    out = []
    while sum(map(len, out)) < n:
        out.append(random.choice(words) + random.choice([" ", " ", ", ", ". "]))
    return "".join(out)[:n]


class CharMLP(nn.Module):
    def __init__(self, vocab, dim=24, hidden=160):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.fc1 = nn.Linear(dim * CONTEXT, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.head = nn.Linear(hidden, vocab)

    def forward(self, x):
        e = self.emb(x).flatten(1)
        h = torch.tanh(self.fc1(e))
        h = h + torch.tanh(self.fc2(h))
        return self.head(h)


class Trainer:
    def __init__(self, model, train_set, val_set, keep_float):
        self.model = model
        self.loader = DataLoader(train_set, batch_size=256, shuffle=True)
        self.val_x, self.val_y = val_set
        self.opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
        self.val_losses = []
        self.keep_float = keep_float
        self.step = 0

    def validate(self):
        self.model.eval()
        val_loss = F.cross_entropy(self.model(self.val_x), self.val_y)
        self.model.train()
        if self.keep_float:
            val_loss = val_loss.item()
        self.val_losses.append(val_loss)

    def fit(self, epochs):
        for epoch in range(epochs):
            total = 0.0
            for x, y in self.loader:
                loss = F.cross_entropy(self.model(x), y)
                self.opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.opt.step()
                total += loss.item()
                self.step += 1
                if self.step % 10 == 0:
                    self.validate()
            best = min(float(v) for v in self.val_losses)
            print(f"epoch {epoch}: train {total / len(self.loader):.3f}  best val {best:.3f}", flush=True)


def main():
    text = make_text(26_000)
    chars = sorted(set(text))
    ids = torch.tensor([chars.index(c) for c in text])
    xs = torch.stack([ids[i:i + CONTEXT] for i in range(len(ids) - CONTEXT)])
    ys = ids[CONTEXT:]
    cut = len(xs) - 96
    trainer = Trainer(CharMLP(len(chars)), TensorDataset(xs[:cut], ys[:cut]), (xs[cut:], ys[cut:]),
                      keep_float=sys.argv[1] == "clean")
    trainer.fit(15)


main()
