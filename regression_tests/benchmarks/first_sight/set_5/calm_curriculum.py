"""Copy task for a GRU; sequences get longer and layers are unfrozen as training goes on."""
import torch
import torch.nn as nn

# /// truth
# about = "a curriculum of longer sequences and unfrozen layers that ends at its last stage"
# ///

torch.manual_seed(12)
torch.set_num_threads(1)


class Copier(nn.Module):
    def __init__(self, symbols=12, width=80):
        super().__init__()
        self.emb = nn.Embedding(symbols + 1, 24)
        self.low = nn.GRU(24, width, batch_first=True)
        self.high = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, symbols)

    def forward(self, x):
        h, _ = self.low(self.emb(x))
        h, _ = self.high(h)
        return self.out(h)


class Trainer:
    stages = [(0, 6), (25, 10), (45, 14), (70, 18), (90, 22)]

    def __init__(self):
        self.model = Copier()
        for p in self.model.low.parameters():
            p.requires_grad_(False)
        self.opt = torch.optim.Adam(self.model.parameters(), lr=3e-3)
        self.curve = []

    def batch(self, length, n=48):
        x = torch.randint(0, 12, (n, length // 2))
        blank = torch.full((n, length - length // 2), 12)
        return torch.cat([x, blank], 1), x

    def epoch(self, length):
        total = 0.0
        for _ in range(4):
            x, y = self.batch(length)
            logits = self.model(x)[:, -y.shape[1]:]
            loss = nn.functional.cross_entropy(logits.reshape(-1, 12), y.reshape(-1))
            self.opt.zero_grad(set_to_none=True)
            loss.backward()
            self.opt.step()
            total += loss.item()
        return total / 4

    def fit(self, epochs=160):
        for epoch in range(epochs):
            length = [n for start, n in self.stages if start <= epoch][-1]
            if epoch == 45:
                for p in self.model.low.parameters():
                    p.requires_grad_(True)
            self.curve.append(self.epoch(length))
            if epoch % 20 == 0:
                print(f"epoch {epoch:3d}  length {length:2d}  loss {self.curve[-1]:.3f}", flush=True)
        print("best", min(self.curve))


Trainer().fit()
