"""Contrastive encoder on a stream of samples; remembers hard samples for a later curriculum."""
import sys
import time
from collections import OrderedDict

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

CUDA = torch.cuda.is_available()
device = torch.device("cuda:0" if CUDA else "cpu")

ROUNDS = 50
BATCHES = 24 if CUDA else 8
ROWS = 1024 if CUDA else 256
IN, HID, OUT = (256, 1024, 512) if CUDA else (64, 128, 256)
MINE_EVERY = 4
BANK_SIZE = 32


class StagingPool:
    """A few page-locked host buffers, used in turn. A buffer waits for its last copy."""

    def __init__(self, count, shape):
        self.buffers = [torch.empty(shape, pin_memory=CUDA) for _ in range(count)]
        self.events = [torch.cuda.Event() if CUDA else None for _ in range(count)]
        self.turn = 0

    def upload(self, array):
        i = self.turn
        self.turn = (i + 1) % len(self.buffers)
        if CUDA:
            self.events[i].synchronize()
        np.copyto(self.buffers[i].numpy(), array)
        on_device = self.buffers[i].to(device, non_blocking=True)
        if CUDA:
            self.events[i].record()
        return on_device


class SampleStream:
    """Endless; each sample has a number of its own."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.prototypes = self.rng.standard_normal((200, IN), dtype=np.float32)
        self.next_id = 0

    def take(self, n):
        kind = self.rng.integers(0, len(self.prototypes), n)
        x = self.prototypes[kind] + self.rng.random((n, IN), dtype=np.float32)
        ids = np.arange(self.next_id, self.next_id + n)
        self.next_id += n
        return ids, x


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(IN, HID), nn.ReLU(), nn.Linear(HID, HID), nn.ReLU())
        self.project = nn.Linear(HID, OUT)

    def forward(self, x):
        h = self.trunk(x)
        return F.normalize(self.project(h), dim=1)


def augment(x):
    return x + 0.2 * torch.randn_like(x), x * (torch.rand_like(x) > 0.2)


def info_nce(za, zb, temperature=0.1):
    scores = za @ zb.t() / temperature
    target = torch.arange(len(za), device=za.device)
    return F.cross_entropy(scores, target, reduction="none")


class HardSampleBank:
    """Embedding of the hardest sample of a batch, by sample number."""

    def __init__(self, capacity):
        self.capacity = capacity
        self.entries = OrderedDict()

    def remember(self, sample_id, embedding):
        self.entries[sample_id] = embedding

    def hardness(self, z):
        if not self.entries:
            return 0.0
        newest = [self.entries[k] for k in list(self.entries)[-self.capacity:]]
        return (z @ torch.stack(newest).t()).amax(1).mean().item()


def run():
    torch.manual_seed(5)
    stream = SampleStream(5)
    pool = StagingPool(4, (ROWS, IN))
    encoder = Encoder().to(device)
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.05, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, ROUNDS)
    bank = HardSampleBank(BANK_SIZE)
    log = {"loss": [], "hardness": []}
    tic = time.time()
    for round_ in range(ROUNDS):
        losses = []
        for b in range(BATCHES):
            ids, x = stream.take(ROWS)
            a1, a2 = augment(pool.upload(x))
            za, zb = encoder(a1), encoder(a2)
            each = info_nce(za, zb)
            loss = each.mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if b % MINE_EVERY == 0:
                worst = int(each.argmax())
                bank.remember(int(ids[worst]), za.detach()[worst])
        schedule.step()
        log["loss"].append(float(np.mean(losses)))
        log["hardness"].append(bank.hardness(zb.detach()))
        if round_ % 10 == 0 or round_ == ROUNDS - 1:
            print("round %d loss %.4f hardness %.3f (%.1f s)"
                  % (round_, log["loss"][-1], log["hardness"][-1], time.time() - tic), flush=True)
    return 0 if log["loss"][-1] < log["loss"][0] else 1


if __name__ == "__main__":
    sys.exit(run())
