"""A small denoising diffusion model of noisy waveforms, with EMA weights and previews."""
import atexit
import copy
import heapq
import logging.handlers
import math
import sys
from collections import deque

import torch
from torch import nn

MODE = sys.argv[1]
EPOCHS, LENGTH, HIDDEN, BATCH = 48, 32, 96, 128
torch.set_num_threads(1)
torch.manual_seed(3)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Linear(8, HIDDEN)
        self.inputs = nn.Linear(LENGTH, HIDDEN)
        self.middle = nn.Linear(HIDDEN, HIDDEN)
        self.output = nn.Linear(HIDDEN, LENGTH)

    def forward(self, x, t):
        angles = t[:, None] * torch.exp2(torch.arange(4.0)) * math.pi
        h = self.inputs(x) + self.time(torch.cat([angles.sin(), angles.cos()], 1))
        return self.output(torch.relu(self.middle(torch.relu(h))))


class NoiseSchedule:
    def __init__(self):
        self.tables = {}

    def table(self, steps):
        if steps not in self.tables:
            self.tables[steps] = torch.cos(torch.linspace(0, 1.54, steps + 1)).square()
        return self.tables[steps]


def waveforms(count):
    phase, freq = torch.rand(count, 1) * 6.28, 1 + 2 * torch.rand(count, 1)
    grid = torch.linspace(0, 6.28, LENGTH)
    return torch.sin(grid * freq + phase) + 0.05 * torch.randn(count, LENGTH)


def write_summary(state):
    if not all(value.isfinite().all() for value in state.values()):
        print("the averaged weights are broken")


class Average:
    """Exponential moving average of the weights, once the model has warmed up."""

    def __init__(self, model, start=18):
        self.model = copy.deepcopy(model).requires_grad_(False)
        self.start = start

    def update(self, model, epoch):
        decay = 0.98 if epoch >= self.start else 0.0
        for mine, theirs in zip(self.model.parameters(), model.parameters()):
            mine.lerp_(theirs.detach(), 1 - decay)
        if epoch >= self.start:
            state = {k: v.clone() for k, v in self.model.state_dict().items()}
            if MODE == "fixed":
                atexit.unregister(write_summary)
            atexit.register(write_summary, state)


class Trainer:
    def __init__(self):
        self.model = Denoiser()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-3)
        self.warmup = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda e: min(1, (e + 1) / 5))
        self.average = Average(self.model)
        self.schedule = NoiseSchedule()
        self.recent = deque(maxlen=400)
        self.gallery = []
        self.best = []

    def train_epoch(self, epoch, steps=22):
        alphas = self.schedule.table(50)
        for _ in range(steps):
            x = waveforms(BATCH)
            step = torch.randint(1, 51, (BATCH,))
            noise, keep = torch.randn_like(x), alphas[step][:, None]
            guess = self.model(keep.sqrt() * x + (1 - keep).sqrt() * noise, step / 50)
            loss = nn.functional.mse_loss(guess, noise)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.recent.append(loss.item())
        self.warmup.step()
        self.average.update(self.model, epoch)

    @torch.no_grad()
    def sample(self, steps, count=24):
        alphas = self.schedule.table(steps)
        chain = torch.empty(steps + 1, count, LENGTH)
        chain[0] = torch.randn(count, LENGTH)
        for i in range(steps):
            now, then = alphas[steps - i], alphas[steps - i - 1]
            eps = self.average.model(chain[i], torch.full((count,), (steps - i) / steps))
            clean = ((chain[i] - (1 - now).sqrt() * eps) / now.sqrt()).clamp(-2, 2)
            chain[i + 1] = then.sqrt() * clean + (1 - then).sqrt() * eps
        return chain[-1]

    def preview(self, epoch):
        samples = self.sample(steps=(40, 50, 60)[epoch % 3])
        shown = samples[:2]
        if MODE == "fixed":
            shown = shown.clone()
            del self.gallery[:-6]
        self.gallery.append(shown)
        return samples

    def evaluate(self, epoch, samples):
        log = logging.getLogger("diffusion.eval" if MODE == "fixed" else f"diffusion.eval.{epoch}")
        log.setLevel(logging.INFO)
        log.propagate = False
        buffer = logging.handlers.MemoryHandler(capacity=1000, flushLevel=logging.CRITICAL)
        log.addHandler(buffer)
        real = waveforms(2000)
        gaps = torch.cdist(samples, real).min(1).values
        for i, gap in enumerate(gaps.tolist()):
            log.info("epoch %d sample %d distance %.4f", epoch, i, gap)
        if MODE == "fixed":
            log.removeHandler(buffer)
            buffer.close()
        score = -gaps.mean().item()
        heapq.heappush(self.best, (score, epoch, copy.deepcopy(self.model.state_dict())))
        if len(self.best) > 4:
            heapq.heappop(self.best)
        return score


def main():
    trainer = Trainer()
    for epoch in range(1, EPOCHS + 1):
        trainer.train_epoch(epoch)
        samples = trainer.preview(epoch)
        score = trainer.evaluate(epoch, samples)
        if epoch % 12 == 0:
            print(f"{epoch:3d} loss {sum(trainer.recent) / len(trainer.recent):.3f} distance {-score:.3f}")


if __name__ == "__main__":
    main()
