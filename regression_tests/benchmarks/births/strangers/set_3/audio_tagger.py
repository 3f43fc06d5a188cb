"""Continual training of an audio tagger: each second round brings a new set of tags, and so a new head."""
import collections
import sys

import numpy as np
import torch
from torch import nn

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
ROUNDS, CLIPS, LENGTH, WIDTH = 14, 24, 4096, 256


class Clips:
    """The raw clips, and the time-stretched variants of them."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        t = np.linspace(0.0, 1.0, LENGTH, dtype=np.float32)
        pitch = self.rng.uniform(50, 900, CLIPS)
        self.raw = [np.sin(2 * np.pi * p * t).astype(np.float32) for p in pitch]
        self.stretched = collections.OrderedDict()

    def stretch(self, clip, rate):
        key = (clip, rate)
        if key in self.stretched:
            self.stretched.move_to_end(key)
            return self.stretched[key]
        at = np.clip(np.arange(LENGTH) * rate, 0, LENGTH - 1)
        wave = np.interp(at, np.arange(LENGTH), self.raw[clip]).astype(np.float32)
        self.stretched[key] = wave
        if FIXED and len(self.stretched) > CLIPS:
            self.stretched.popitem(last=False)
        return wave

    def augmented(self):
        rates = np.round(self.rng.normal(1.0, 0.05, CLIPS), 5)
        noise = self.rng.normal(0, 0.02, (CLIPS, LENGTH)).astype(np.float32)
        return torch.from_numpy(np.stack([self.stretch(c, float(r)) for c, r in enumerate(rates)]) + noise)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 32, 64, stride=16)
        self.mix = nn.Conv1d(32, WIDTH, 5, stride=4)

    def forward(self, wave):
        return torch.relu(self.mix(torch.relu(self.conv(wave[:, None])))).mean(-1)


class Covariance:
    """Covariance of the embeddings, for the whitening report."""

    def __init__(self):
        self.second = torch.zeros(WIDTH, WIDTH)
        self.seen = 0

    def __call__(self, module, args, embedding):
        flat = embedding.detach()
        self.second += flat.T @ flat
        self.seen += len(flat)


class Trainer:
    def __init__(self):
        self.encoder = Encoder()
        self.optimizer = torch.optim.Adam(self.encoder.parameters(), lr=1e-3)
        self.head = None
        self.losses = collections.deque(maxlen=4)

    def rotate_head(self):
        if FIXED and self.head is not None:
            for parameter in self.optimizer.param_groups.pop()["params"]:
                self.optimizer.state.pop(parameter, None)
        self.head = nn.Sequential(nn.Linear(WIDTH, 384), nn.ReLU(), nn.Linear(384, 10))
        self.optimizer.add_param_group({"params": list(self.head.parameters()), "lr": 3e-3})

    def train(self, waves, labels):
        for _ in range(10):
            loss = nn.functional.cross_entropy(self.head(self.encoder(waves)), labels)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.losses.append(loss.item())

    @torch.no_grad()
    def evaluate(self, waves):
        covariance = Covariance()
        handle = self.encoder.register_forward_hook(covariance)
        for shift in (0, 7, 31):
            self.encoder(waves.roll(shift, dims=-1))
        if FIXED:
            handle.remove()
        return float(torch.linalg.eigvalsh(covariance.second / covariance.seen)[-1])


def main():
    torch.manual_seed(5)
    torch.set_num_threads(1)
    clips, trainer = Clips(seed=5), Trainer()
    generator = torch.Generator().manual_seed(6)
    with LeakGuard(out=sys.argv[2]) as guard:
        for number in guard.generations(range(ROUNDS)):
            with guard.phase("augment"):
                waves = clips.augmented()
            if number % 2 == 0:
                with guard.phase("rotate_head"):
                    trainer.rotate_head()
                    labels = torch.randint(0, 10, (CLIPS,), generator=generator)
            with guard.phase("train"):
                trainer.train(waves, labels)
            with guard.phase("evaluate"):
                top = trainer.evaluate(waves)
    print(f"loss {trainer.losses[-1]:.3f}, leading eigenvalue {top:.3f}")


main()
