"""A small convolutional net that finds scratches, dents and stains in synthetic sheets of metal."""
import functools
import math
import sys
from collections import OrderedDict

import numpy as np
import torch
from torch import nn

TIDY = sys.argv[1] == "fixed"
EPOCHS, SIDE, KINDS, BATCH = 56, 24, 4, 48


class Bank:
    """Clean sheets by number, rendered on demand; the last 300 stay."""

    def __init__(self, limit=300):
        self.limit, self.sheets = limit, OrderedDict()

    def sheet(self, number):
        if number not in self.sheets:
            rng = np.random.default_rng(number)
            grain = np.cumsum(rng.standard_normal((SIDE, SIDE)), axis=1) / SIDE
            self.sheets[number] = (grain - grain.mean()).astype(np.float32)
            if len(self.sheets) > self.limit:
                self.sheets.popitem(last=False)
        self.sheets.move_to_end(number)
        return self.sheets[number]


class Augmenter:
    """One epoch's way to disturb a sheet: an orientation of the light and a strength."""

    def __init__(self, angle, strength):
        self.angle, self.strength = angle, strength

    @functools.lru_cache(maxsize=8 if TIDY else None)
    def ripple(self, wavelength):
        rows, cols = np.mgrid[0:SIDE, 0:SIDE]
        along = rows * math.sin(self.angle) + cols * math.cos(self.angle)
        return (self.strength * np.sin(2 * math.pi * along / wavelength)).astype(np.float32)

    def __call__(self, sheet, rng):
        return sheet + self.ripple(int(rng.integers(3, 15))) + 0.1 * rng.standard_normal(sheet.shape).astype(np.float32)


def spoil(sheet, kind, rng):
    if kind == 1:
        row, slope = rng.integers(4, SIDE - 4), rng.uniform(-0.4, 0.4)
        for col in range(3, SIDE - 3):
            sheet[int(np.clip(row + slope * col, 0, SIDE - 1)), col] += 1.5
    elif kind in (2, 3):
        rows, cols = np.ogrid[0:SIDE, 0:SIDE]
        spot = (rows - rng.integers(5, SIDE - 5)) ** 2 + (cols - rng.integers(5, SIDE - 5)) ** 2
        sheet += np.where(spot < 16, 1.0 if kind == 2 else -1.0, 0.0).astype(np.float32) * np.exp(-spot / 12)
    return sheet


class Plant:
    """Makes the batches of an epoch; there are more in the middle of the course than at its ends."""

    def __init__(self, seed):
        self.bank, self.rng = Bank(), np.random.default_rng(seed)

    def batches(self, epoch):
        augment = Augmenter(self.rng.uniform(0, math.pi), self.rng.uniform(0.1, 0.4))
        for _ in range(2 + round(2 * math.sin(math.pi * epoch / EPOCHS))):
            kinds = self.rng.integers(0, KINDS, BATCH)
            sheets = [augment(spoil(self.bank.sheet(int(self.rng.integers(900))).copy(), kind, self.rng), self.rng)
                      for kind in kinds]
            yield torch.from_numpy(np.stack(sheets)[:, None].astype(np.float32)), torch.from_numpy(kinds)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.neck = nn.Sequential(nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Linear(24 * (SIDE // 4) ** 2, KINDS)

    def forward(self, sheets):
        return self.head(self.neck(self.stem(sheets)).flatten(1))


class GradientWatch:
    """Compares the gradients of one epoch with the first of that epoch."""

    def __init__(self, weight):
        self.weight, self.cosines = weight, []

    def begin(self):
        first, sums, live = torch.zeros_like(self.weight), [0.0, 0], [True]

        def compare(grad):
            if live[0]:
                if not sums[1]:
                    first.copy_(grad)
                sums[0] += float(nn.functional.cosine_similarity(first.flatten(), grad.flatten(), dim=0))
                sums[1] += 1

        handle = self.weight.register_hook(compare)

        def finish():
            live[0] = False
            if TIDY:
                handle.remove()
            self.cosines.append(sums[0] / max(1, sums[1]))
        return finish


class Gallery:
    """The most puzzling sheet of each of the last epochs, for the people at the line."""

    def __init__(self, shown=6):
        self.shown, self.worst = shown, []

    def offer(self, epoch, sheets, losses):
        index = int(losses.argmax())
        sheet = sheets[index]
        if TIDY:
            sheet = sheet.clone()
            del self.worst[:1 - self.shown]
        self.worst.append((epoch, float(losses[index]), sheet))

    def hardest(self):
        return max(self.worst[-self.shown:], key=lambda entry: entry[1])[0]


class Trainer:
    def __init__(self):
        self.plant, self.net, self.gallery = Plant(11), Net(), Gallery()
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=2e-3)
        self.watch = GradientWatch(self.net.neck[0].weight)
        self.accuracy = []

    def epoch(self, number):
        finish = self.watch.begin() if number > EPOCHS * 3 // 7 else None
        right = seen = 0
        for sheets, kinds in self.plant.batches(number):
            scores = self.net(sheets)
            losses = nn.functional.cross_entropy(scores, kinds, reduction="none")
            self.optimizer.zero_grad()
            losses.mean().backward()
            self.optimizer.step()
            right += int((scores.argmax(1) == kinds).sum())
            seen += len(kinds)
        self.gallery.offer(number, sheets, losses.detach())
        if finish:
            finish()
        self.accuracy.append(right / seen)


def main():
    torch.manual_seed(2)
    torch.set_num_threads(1)
    trainer = Trainer()
    for number in range(1, EPOCHS + 1):
        trainer.epoch(number)
        if number % 7 == 0:
            steady = trainer.watch.cosines[-1] if trainer.watch.cosines else 0.0
            print(f"epoch {number:3d} accuracy {trainer.accuracy[-1]:.3f} steady {steady:+.2f} "
                  f"hardest {trainer.gallery.hardest()}", flush=True)


main()
