"""A small VAE learns made-up folk tunes; after each epoch it plays a few takes."""
import contextlib
import io
import logging
import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

TIDY = sys.argv[1] == "fixed"
STEPS, PITCHES, LATENT = 64, 24, 16
SCALE = (0, 2, 4, 5, 7, 9, 11, 12, 14, 16, 17, 19, 21, 23)


@dataclass
class Plan:
    epochs: int = 90
    batches: int = 6
    size: int = 48
    notation_from: int = 25
    share: float = 0.3
    bars: deque = field(default_factory=lambda: deque(maxlen=150))


class TuneVAE(nn.Module):
    def __init__(self, width=160):
        super().__init__()
        self.enter = nn.Linear(STEPS * PITCHES, width)
        self.mid = nn.Linear(width, width)
        self.moments = nn.Linear(width, 2 * LATENT)
        self.leave = nn.Sequential(nn.Linear(LATENT, width), nn.ReLU(), nn.Linear(width, STEPS * PITCHES))

    def forward(self, tunes):
        mean, spread = self.moments(F.relu(self.mid(F.relu(self.enter(tunes))))).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (0.5 * spread).exp()
        return self.leave(z), (mean ** 2 + spread.exp() - spread - 1).mean()

    @torch.no_grad()
    def sample(self, z):
        return self.leave(z)


def tunes(rng, count):
    walk = np.abs(rng.integers(-2, 3, (count, STEPS)).cumsum(1)) % len(SCALE)
    roll = np.zeros((count, STEPS, PITCHES), np.float32)
    np.put_along_axis(roll, np.array(SCALE)[walk][..., None], 1.0, axis=2)
    return torch.from_numpy(roll.reshape(count, -1))


def protect(weight, share):
    """Gradients of the smallest weights are switched off for the epoch."""
    size = weight.detach().abs()
    mask = (size > size.flatten().kthvalue(int(share * size.numel())).values).float()
    return weight.register_hook(lambda gradient: gradient * mask)


@contextlib.contextmanager
def in_style_of(model, examples):
    plain = model.sample

    def styled(z):
        return plain(z) + 0.1 * examples[int(z.shape[0]) % len(examples)]

    model.sample = styled
    yield model
    if TIDY:
        model.sample = plain


class Player:
    def __init__(self):
        self.pool = ThreadPoolExecutor(1)
        self.playing = set()

    def play(self, notes):
        job = self.pool.submit(self.render, notes)
        self.playing.add(job)
        if TIDY:
            job.add_done_callback(self.playing.discard)
        return job

    @staticmethod
    def render(notes):
        t = np.arange(300) / 8000
        return np.concatenate([np.sin(2 * np.pi * 220 * 2 ** (n / 12) * t) * np.exp(-t * 9) for n in notes])


def notate(epoch, takes):
    """Piano rolls as text; returns how many characters were written."""
    log = logging.getLogger("tunes.takes" if TIDY else f"tunes.takes.{epoch}")
    log.propagate = False
    log.setLevel(logging.INFO)
    handler = logging.StreamHandler(io.StringIO())
    log.addHandler(handler)
    for number, take in enumerate(takes.tolist()):
        rows = "\n".join("." * pitch + "#" + "." * (PITCHES - 1 - pitch) for pitch in take)
        log.info("take %d\n%s", number, rows)
    written = handler.stream.tell()
    if TIDY:
        log.removeHandler(handler)
    return written


def train_epoch(model, optimizer, rng, plan):
    handle = protect(model.mid.weight, plan.share)
    for _ in range(plan.batches):
        batch = tunes(rng, plan.size)
        logits, divergence = model(batch)
        loss = F.binary_cross_entropy_with_logits(logits, batch) + 1e-3 * divergence
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        plan.bars.append(batch[:4].mean(0).numpy().copy())
    if TIDY:
        handle.remove()
    return loss.item()


def perform(model, player, rng, epoch, plan):
    with in_style_of(model, tunes(rng, 40)) as artist:
        takes = artist.sample(torch.randn(24, LATENT)).view(-1, STEPS, PITCHES).argmax(2)
    peak = float(np.abs(player.play(takes[0].tolist()).result()).max())
    return peak, notate(epoch, takes) if epoch >= plan.notation_from else 0


def main():
    torch.set_num_threads(1)
    torch.manual_seed(11)
    rng, plan, player = np.random.default_rng(11), Plan(), Player()
    model = TuneVAE()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    history = []
    for epoch in range(1, plan.epochs + 1):
        loss = train_epoch(model, optimizer, rng, plan)
        history.append((epoch, loss, *perform(model, player, rng, epoch, plan)))
    player.pool.shutdown()
    print(f"{len(history)} epochs, loss {history[-1][1]:.4f}, notated {history[-1][3]}")


main()
