"""Train a tiny character-level GRU language model on a synthetic corpus."""
import math
import os
import sys
from collections import defaultdict

import torch
import torch.nn as nn
import torch.nn.functional as F

from leakguard import LeakGuard

torch.set_num_threads(1)
torch.manual_seed(1337)

MODE = sys.argv[1] if len(sys.argv) > 1 else "fixed"
EPOCHS = 24
STEPS_PER_EPOCH = 12
BLOCK = 24
BATCH = 12

SENTENCE = "the quick brown fox jumps over the lazy dog while seven wizards brew strong tea. "
CORPUS = (SENTENCE + SENTENCE[::-1]) * 40
VOCAB = sorted(set(CORPUS))
STOI = {ch: i for i, ch in enumerate(VOCAB)}
DATA = torch.tensor([STOI[c] for c in CORPUS])


class CharLM(nn.Module):
    def __init__(self, vocab, width=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, vocab)

    def forward(self, idx):
        hidden, _ = self.rnn(self.emb(idx))
        return self.head(hidden)


class Meter:
    """Averages whatever is logged (numbers or scalar tensors), per metric name."""

    def __init__(self):
        self.values = defaultdict(list)

    def log(self, name, value):
        self.values[name].append(value)

    def mean(self, name, last):
        window = self.values[name][-last:]
        return sum(v.item() if torch.is_tensor(v) else v for v in window) / len(window)


class EarlyStopper:
    def __init__(self, patience=6):
        self.best, self.bad, self.patience = math.inf, 0, patience
        self.best_state = None

    def update(self, loss, model):
        if loss < self.best:
            self.best, self.bad = loss, 0
            self.best_state = {k: v.detach().clone() for k, v in model.state_dict().items()}
        else:
            self.bad += 1


def sample_batch(gen):
    starts = torch.randint(0, len(DATA) - BLOCK - 1, (BATCH,), generator=gen).tolist()
    x = torch.stack([DATA[s:s + BLOCK] for s in starts])
    y = torch.stack([DATA[s + 1:s + BLOCK + 1] for s in starts])
    return x, y


def train_epoch(model, opt, meter, gen):
    model.train()
    for _ in range(STEPS_PER_EPOCH):
        x, y = sample_batch(gen)
        logits = model(x)
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        meter.log("train_loss", loss.item())


def validate(model, meter, gen):
    model.eval()
    for _ in range(2):
        x, y = sample_batch(gen)
        logits = model(x)
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1))
        meter.log("val_loss", loss if MODE == "leak" else loss.item())


def main():
    gen = torch.Generator().manual_seed(7)
    model = CharLM(len(VOCAB))
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    meter, stopper = Meter(), EarlyStopper()
    guard = LeakGuard(out=os.environ.get("OUT", "run.jsonl"))
    with guard:
        for epoch in guard.generations(range(1, EPOCHS + 1)):
            with guard.phase("train"):
                train_epoch(model, opt, meter, gen)
            with guard.phase("validate"):
                validate(model, meter, gen)
            val = meter.mean("val_loss", last=2)
            stopper.update(val, model)
            if epoch % 6 == 0:
                print(f"epoch {epoch:2d}  train {meter.mean('train_loss', STEPS_PER_EPOCH):.3f}  val {val:.3f}")
    print(f"best val loss {stopper.best:.3f}")


if __name__ == "__main__":
    main()
