import atexit
import json
import sys
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

MODE = sys.argv[1]
torch.set_num_threads(1)
torch.manual_seed(11)
OUT = Path(tempfile.mkdtemp())


class ClipSet:
    """Audio clips; a spectrum is computed once and then reused."""

    def __init__(self, n=160):
        g = torch.Generator().manual_seed(0)
        self.waves = torch.randn(n, 1600, generator=g)
        self.labels = torch.randint(0, 8, (n,), generator=g)
        self.spectra = {}

    def __len__(self):
        return len(self.waves)

    def __getitem__(self, idx):
        if idx not in self.spectra:
            self.spectra[idx] = torch.fft.rfft(self.waves[idx]).abs()[:640].clone()
        return self.spectra[idx], self.labels[idx]


class ShuffledSampler:
    def __init__(self, data):
        self.data = data

    def __iter__(self):
        order = torch.randperm(len(self.data))
        return iter(order.tolist()) if MODE == "fixed" else iter(order)


class EpochLog:
    """Per-sample losses of one epoch, written on close."""

    def __init__(self, epoch):
        self.path = OUT / f"epoch{epoch}.json"
        self.rows = []
        self.closed = False
        if MODE != "fixed":
            atexit.register(self.close)

    def add(self, losses):
        self.rows.extend(losses.tolist())

    def close(self):
        if not self.closed:
            self.closed = True
            self.path.write_text(json.dumps(self.rows[-50:]))
            if MODE == "fixed":
                self.rows = []


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 16, 9, stride=4)
        self.out = nn.Linear(16 * 158, 8)

    def forward(self, x):
        return self.out(torch.relu(self.conv(x[:, None])).flatten(1))


def batches(data, sampler, size=32):
    rows = []
    for idx in sampler:
        rows.append(data[idx])
        if len(rows) == size:
            yield torch.stack([r[0] for r in rows]), torch.stack([r[1] for r in rows])
            rows = []


def train(net, opt, data, sampler, log):
    for x, y in batches(data, sampler):
        for view in range(6):
            noisy = x + 0.05 * torch.randn_like(x)
            losses = F.cross_entropy(net(noisy), y, reduction="none")
            opt.zero_grad()
            losses.mean().backward()
            opt.step()
            log.add(losses.detach())
    return float(losses.mean().detach())


def validate(net, data, held):
    with torch.no_grad():
        return float((net(held).argmax(1) == data.labels[:64]).float().mean())


def main():
    data, net = ClipSet(), Net()
    sampler = ShuffledSampler(data)
    opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    held = torch.fft.rfft(data.waves[:64]).abs()[:, :640]
    last = []
    for epoch in range(80):
        log = EpochLog(epoch)
        loss = train(net, opt, data, sampler, log)
        last = (last + [validate(net, data, held)])[-5:]
        log.close()
        if epoch % 20 == 0:
            print(epoch, f"{loss:.3f}", last[-1])


main()
