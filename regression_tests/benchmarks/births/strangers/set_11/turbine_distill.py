"""Self-distillation of a transformer encoder on turbine sensor windows (EMA teacher)."""
import atexit
import copy
import math
import sys
import zlib
from collections import deque

import numpy as np
import torch
from torch import nn

FIXED = sys.argv[1] == "fixed"
torch.set_num_threads(1)
torch.manual_seed(5)

CHANNELS, WINDOW, WIDTH = 10, 32, 64
EPOCHS = 84
ANCHOR_START = 30


class SensorFeed:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.speed = self.rng.uniform(0.5, 3.0, CHANNELS)

    def windows(self, count):
        start = self.rng.uniform(0, 100, (count, 1, 1))
        time = start + np.arange(WINDOW).reshape(1, -1, 1) * 0.1
        clean = np.sin(time * self.speed) + 0.3 * np.sin(2.7 * time)
        noise = self.rng.normal(0, 0.15, clean.shape)
        return torch.from_numpy((clean + noise).astype(np.float32))


class Encoder(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.embed = nn.Linear(CHANNELS, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 128, dropout=0.0, batch_first=True)
        self.body = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        position = torch.arange(WINDOW).unsqueeze(1) * torch.exp(-torch.arange(0, WIDTH, 2) / WIDTH * math.log(1e4))
        self.register_buffer("position", torch.cat([position.sin(), position.cos()], dim=1))

    def forward(self, x):
        return self.body(self.embed(x) + self.position)


class AnchorSet(nn.Module):
    """Teacher embeddings of reference windows that pull the student towards them."""

    def __init__(self):
        super().__init__()
        self.current = None

    def refresh(self, epoch, embedding):
        self.current = "reference" if FIXED else f"reference_{epoch}"
        if self.current in self._buffers:
            self._buffers[self.current] = embedding
        else:
            self.register_buffer(self.current, embedding)

    def pull(self, embedding):
        if self.current is None:
            return embedding.new_zeros(())
        return (embedding - getattr(self, self.current)).pow(2).mean()


class ShardWriter:
    """Collects one epoch's quantised embeddings and closes the shard at the latest at exit."""

    def __init__(self, epoch):
        self.epoch = epoch
        self.parts = []
        self.digest = None
        atexit.register(self.close)

    def add(self, hidden):
        self.parts.append((hidden * 32).clamp(-128, 127).to(torch.int8).numpy().tobytes())

    def close(self):
        if self.digest is None:
            self.digest = zlib.crc32(b"".join(self.parts))
        if FIXED:
            atexit.unregister(self.close)


class Distiller:
    def __init__(self, seed):
        self.feed = SensorFeed(seed)
        self.student = Encoder()
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)
        self.anchors = AnchorSet()
        self.reference = self.feed.windows(16)
        self.optimizer = torch.optim.AdamW(self.student.parameters(), lr=3e-4)
        self.rehearsal = deque(maxlen=200)
        self.history = []
        self.best = (float("inf"), None)

    def step(self, x):
        target = self.teacher(x)
        output = self.student(x * (torch.rand(x.shape[:2]) > 0.3).unsqueeze(-1))
        loss = (output - target).pow(2).mean() - 0.05 * output.std(dim=0).mean()
        loss = loss + 0.1 * self.anchors.pull(self.student(self.reference))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            for mine, theirs in zip(self.teacher.parameters(), self.student.parameters()):
                mine.lerp_(theirs, 0.02)
        return loss.item()

    @torch.no_grad()
    def inspect(self, epoch, shard):
        x = self.feed.windows(24)
        hidden = self.teacher(x)
        shard.add(hidden)
        distance = (hidden - self.student(x)).pow(2).mean(dim=(1, 2))
        worst = int(distance.argmax())
        trace = hidden[worst, -1, :4]
        return {"distance": float(distance.mean()), "trace": trace.tolist() if FIXED else trace}

    def epoch(self, epoch):
        loss = 0.0
        for _ in range(2):
            x = self.feed.windows(12)
            self.rehearsal.extend(x[:3].clone().unbind(0))
            if epoch % 2:
                x = torch.cat([x, self.rehearsal[0].unsqueeze(0)])
            loss += self.step(x)
        if epoch >= ANCHOR_START:
            with torch.no_grad():
                self.anchors.refresh(epoch, self.teacher(self.reference))
        shard = ShardWriter(epoch)
        row = self.inspect(epoch, shard)
        shard.close()
        self.history.append(row)
        if loss < self.best[0]:
            self.best = (loss, copy.deepcopy(self.student.state_dict()))
        return loss


def run():
    distiller = Distiller(17)
    for epoch in range(1, EPOCHS + 1):
        loss = distiller.epoch(epoch)
    last = distiller.history[-1]
    print(f"epoch {epoch} loss {loss:.4f} best {distiller.best[0]:.4f} distance {last['distance']:.4f}")


run()
