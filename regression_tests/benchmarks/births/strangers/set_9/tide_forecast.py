"""A recurrent forecaster of the tide at eight gauges: trained every day, and live once it has learnt enough."""
import sys
from collections import deque

import numpy as np
import torch
from torch import nn

TIDY = sys.argv[1] == "fixed"
DAYS, HOURS, GAUGES, WIDTH = 80, 24, 8, 48


class Sea:
    """Tidal constituents, surges that decay, and noise of the gauges."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.periods = np.array([12.42, 12.0, 12.66, 25.82, 23.93])
        self.heights = self.rng.uniform(0.2, 1.0, (GAUGES, 5))
        self.shifts = self.rng.uniform(0, 6.28, (GAUGES, 5))
        self.surge, self.hour = np.zeros(GAUGES), 0

    def day(self):
        levels = np.zeros((HOURS, GAUGES), np.float32)
        for hour in range(HOURS):
            self.hour += 1
            self.surge = 0.95 * self.surge + 0.05 * self.rng.standard_normal(GAUGES)
            waves = self.heights * np.cos(2 * np.pi * self.hour / self.periods + self.shifts)
            levels[hour] = waves.sum(1) / 2 + self.surge + 0.02 * self.rng.standard_normal(GAUGES)
        return levels


class Archive:
    """The last three weeks of levels, and windows of a day and a half drawn from them."""

    def __init__(self, seed):
        self.days, self.rng = deque(maxlen=21), np.random.default_rng(seed)

    def add(self, levels):
        self.days.append(levels)

    def windows(self, count):
        series = np.concatenate(self.days)
        starts = self.rng.integers(0, max(1, len(series) - 36), count)
        block = np.stack([series[start:start + 36].T for start in starts])
        return torch.from_numpy(block.reshape(-1, block.shape[-1], 1))


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.GRUCell(1, WIDTH), nn.Linear(WIDTH, 1)

    def step(self, level, hidden):
        hidden = self.cell(level, hidden)
        return level + self.out(hidden), hidden

    def forward(self, series):
        hidden, guesses = torch.zeros(len(series), WIDTH), []
        for hour in range(series.shape[1] - 1):
            guess, hidden = self.step(series[:, hour], hidden)
            guesses.append(guess)
        return torch.stack(guesses, 1)


class Shadows:
    """A running mean of the weights over each day, taken after every step of the optimizer."""

    def __init__(self, model, optimizer):
        self.model, self.optimizer, self.distance = model, optimizer, 0.0

    def follow(self):
        weights = list(self.model.parameters())
        mean, state = [weight.detach().clone() for weight in weights], {"open": True, "steps": 0}

        def after_step(optimizer, args, kwargs):
            if state["open"]:
                state["steps"] += 1
                for kept, weight in zip(mean, weights):
                    kept.lerp_(weight.detach(), 1 / (1 + state["steps"]))

        handle = self.optimizer.register_step_post_hook(after_step)
        return mean, state, handle

    def close(self, mean, state, handle):
        state["open"] = False
        if TIDY:
            handle.remove()
        gaps = [float((kept - weight.detach()).norm()) for kept, weight in zip(mean, self.model.parameters())]
        self.distance = sum(gaps)


class Calibrator:
    """Corrects the forecast at each gauge by the quantiles of its recent residuals."""

    def __init__(self, keep):
        self.keep, self.table, self.bias = keep, np.zeros((0, 4 + 3 * GAUGES)), np.zeros(GAUGES)

    def add(self, day, guesses, levels):
        rows = np.zeros((HOURS, 4 + 3 * GAUGES))
        rows[:, 0], rows[:, 1] = day, np.arange(HOURS)
        rows[:, 4:] = np.hstack([levels - guesses, levels, guesses])
        rows[:, 2], rows[:, 3] = rows[:, 4:4 + GAUGES].mean(1), rows[:, 4:4 + GAUGES].std(1)
        self.table = np.concatenate([self.table[-self.keep:] if TIDY else self.table, rows])
        self.bias = np.median(self.table[-self.keep:, 4:4 + GAUGES], axis=0)


class LiveDesk:
    """Reads the gauges hour by hour, and carries the state of the network from day to day."""

    def __init__(self, model, calibrator):
        self.model, self.calibrator = model, calibrator
        self.hidden, self.errors = torch.zeros(GAUGES, WIDTH), deque(maxlen=14)

    def run(self, day, levels):
        guesses, last = np.zeros_like(levels), levels[0]
        for hour in range(HOURS):
            guess, self.hidden = self.model.step(torch.from_numpy(last[:, None]), self.hidden)
            guesses[hour], last = guess.detach().squeeze(1).numpy(), levels[hour]
        if TIDY:
            self.hidden = self.hidden.detach()
        self.errors.append(float(np.abs(levels[1:] - guesses[1:] - self.calibrator.bias).mean()))
        self.calibrator.add(day, guesses, levels)


class Station:
    def __init__(self):
        self.sea, self.archive, self.model = Sea(4), Archive(5), Forecaster()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=3e-3)
        self.shadows = Shadows(self.model, self.optimizer)
        self.desk = LiveDesk(self.model, Calibrator(keep=10 * HOURS))
        self.losses = []

    def train(self):
        watched = self.shadows.follow()
        for _ in range(2):
            series = self.archive.windows(6)
            loss = nn.functional.mse_loss(self.model(series), series[:, 1:])
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
        self.shadows.close(*watched)
        self.losses.append(loss.item())

    def live(self, day, levels):
        self.desk.run(day, levels)


def main():
    torch.manual_seed(6)
    torch.set_num_threads(1)
    station = Station()
    for day in range(1, DAYS + 1):
        levels = station.sea.day()
        station.archive.add(levels)
        station.train()
        if day > DAYS * 4 // 9:
            station.live(day, levels)
        if day % 10 == 0:
            errors = station.desk.errors
            print(f"day {day:3d} loss {station.losses[-1]:.4f} live {sum(errors) / max(1, len(errors)):.3f} "
                  f"moved {station.shadows.distance:.3f}", flush=True)


main()
