"""Small character model trained on a synthetic text."""
# /// truth
# about = "a trainer that keeps every step's loss with its graph in its history"
# [[leak]]
# type = "Tensor"
# holder = ["history", "loss"]
# kind = ["autograd", "tensors"]
# line = ["loss = F.cross_entropy(logits.reshape(-1, self.vocab), y.reshape(-1))", "self.history[\"loss\"].append(loss if MODE == \"leak\" else loss.item())"]
# ///
import random
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

MODE = sys.argv[1] if len(sys.argv) > 1 else "clean"


def make_text(n, seed=3):
    rng = random.Random(seed)
    words = ["lorem", "ipsum", "dolor", "sit", "amet", "elit", "sed", "do", "magna"]
    out = []
    while n > 0:
        w = rng.choice(words)
        out.append(w)
        n -= len(w) + 1
    return " ".join(out)


class CharModel(nn.Module):
    def __init__(self, vocab, dim=24):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, 48, batch_first=True)
        self.out = nn.Linear(48, vocab)

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        return self.out(h)


class Trainer:
    def __init__(self, text, steps):
        chars = sorted(set(text))
        self.vocab = len(chars)
        index = {c: i for i, c in enumerate(chars)}
        self.data = torch.tensor([index[c] for c in text])
        self.model = CharModel(self.vocab)
        self.opt = torch.optim.Adam(self.model.parameters(), lr=3e-3)
        self.steps = steps
        self.history = {"loss": [], "lr": []}

    def batch(self, size=12, length=24):
        starts = torch.randint(0, len(self.data) - length - 1, (size,))
        x = torch.stack([self.data[s:s + length] for s in starts])
        y = torch.stack([self.data[s + 1:s + length + 1] for s in starts])
        return x, y

    def fit(self):
        step = 0
        while step < self.steps:
            x, y = self.batch()
            logits = self.model(x)
            loss = F.cross_entropy(logits.reshape(-1, self.vocab), y.reshape(-1))
            self.opt.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.opt.step()
            self.history["loss"].append(loss if MODE == "leak" else loss.item())
            self.history["lr"].append(self.opt.param_groups[0]["lr"])
            step += 1
            if step % 100 == 0:
                recent = [torch.as_tensor(v).item() for v in self.history["loss"][-50:]]
                print(f"step {step} loss {sum(recent) / len(recent):.4f}", flush=True)
        return torch.as_tensor(self.history["loss"][-1]).item()


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    trainer = Trainer(make_text(20000), steps=800)
    print("final", round(trainer.fit(), 4))
