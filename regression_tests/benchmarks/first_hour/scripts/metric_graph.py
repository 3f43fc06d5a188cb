"""Supervised training of a small classifier; the epoch's meter forgets .item()."""
import sys
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from leakguard import LeakGuard

CLEAN = "clean" in sys.argv
torch.manual_seed(0)


class Meter:
    """Average over a run and a smoothed trend over epochs."""

    def __init__(self):
        self.trend = 0.0
        self.count = 0

    def update(self, value):
        self.trend = 0.9 * self.trend + 0.1 * (value.item() if CLEAN else value)
        self.count += 1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
        self.head = nn.Linear(256, 10)

    def forward(self, x):
        return self.head(self.body(x))


def main():
    x = torch.randn(2000, 64)
    y = (x[:, :10]).argmax(1)
    train = DataLoader(TensorDataset(x[:1600], y[:1600]), batch_size=100, shuffle=True)
    val_x, val_y = x[1600:], y[1600:]
    net, meter = Net(), Meter()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    crit = nn.CrossEntropyLoss()
    mode = "clean" if CLEAN else "leaky"
    guard = LeakGuard(out=f"s01.{mode}.jsonl")
    with guard:
        for epoch in guard.generations(range(40)):
            net.train()
            with guard.phase("train"):
                for xb, yb in train:
                    opt.zero_grad()
                    loss = crit(net(xb), yb)
                    loss.backward()
                    opt.step()
            net.eval()
            with guard.phase("validate"):
                val_loss = crit(net(val_x), val_y)
                meter.update(val_loss)
            if epoch % 10 == 0:
                print(f"epoch {epoch} trend {float(meter.trend):.4f}")


if __name__ == "__main__":
    main()
