"""Evolutionary search for small students of a fixed teacher, scored by fit, flatness and size."""
import atexit
import itertools
import sys
from collections import deque

import numpy as np
import torch
from leakguard import LeakGuard
from torch import nn
from torch.nn import functional as F

TIDY = sys.argv[1] == "fixed"
GENERATIONS = 70
CHILDREN = 4
INPUTS = 24
ARCHIVE_FROM = 25

torch.set_num_threads(1)
torch.manual_seed(19)


class Plan:
    """Base of the generated student plans; every plan announces itself under its name."""

    known = {}
    layers = ()
    wiring = None

    def __init_subclass__(cls):
        Plan.known[cls.__name__] = cls

    @classmethod
    def build(cls):
        sizes = (INPUTS, *cls.layers, 6)
        parts = []
        for wide, narrow in zip(sizes, sizes[1:]):
            parts += [nn.Linear(wide, narrow), nn.Tanh()]
        student = nn.Sequential(*parts[:-1])
        with torch.no_grad():
            student[0].weight.mul_(torch.from_numpy(cls.wiring[: cls.layers[0], :INPUTS]))
        return student


def retire(plan):
    if TIDY:
        del Plan.known[plan.__name__]
        plan.wiring = None


class ChampionLog:
    """Predictions of a generation's champion, written out at the latest when the search ends."""

    def __init__(self, name):
        self.name = name
        self.rows = []
        self.written = 0
        atexit.register(self.flush)

    def add(self, predictions):
        self.rows.append(predictions)

    def flush(self):
        self.written += sum(row.nbytes for row in self.rows)

    def close(self):
        self.flush()
        if TIDY:
            atexit.unregister(self.flush)


class Search:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.numbers = itertools.count(1)
        self.teacher = nn.Sequential(nn.Linear(INPUTS, 64), nn.Tanh(), nn.Linear(64, 6)).requires_grad_(False)
        self.exam = torch.randn(512, INPUTS)
        self.widths = (40, 40)
        self.hall = deque(maxlen=6)
        self.scores = deque(maxlen=24)

    def breed(self):
        plans = []
        for _ in range(CHILDREN):
            layers = tuple(int(np.clip(width + self.rng.integers(-6, 7), 24, 72)) for width in self.widths)
            wiring = (self.rng.random((80, 80)) > 0.2).astype(np.float32)
            plans.append(type(f"Plan{next(self.numbers)}", (Plan,), {"layers": layers, "wiring": wiring}))
        return plans

    def flatness(self, student, inputs, answers):
        loss = F.mse_loss(student(inputs), answers)
        weights = list(student.parameters())
        if TIDY:
            slopes = torch.autograd.grad(loss, weights, create_graph=True)
        else:
            student.zero_grad()
            loss.backward(create_graph=True)
            slopes = [weight.grad for weight in weights]
        steepness = sum(slope.square().sum() for slope in slopes)
        curves = torch.autograd.grad(steepness, weights)
        return float(sum(curve.square().sum() for curve in curves).sqrt())

    def distil(self, plan):
        student = plan.build()
        sgd = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9)
        for _ in range(14):
            inputs = torch.randn(64, INPUTS)
            loss = F.mse_loss(student(inputs), self.teacher(inputs))
            sgd.zero_grad()
            loss.backward()
            sgd.step()
        with torch.no_grad():
            predictions = student(self.exam).numpy()
        fit = float(np.square(predictions - self.teacher(self.exam).numpy()).mean())
        sharp = self.flatness(student, self.exam[:128], self.teacher(self.exam[:128]))
        return fit + 0.01 * sharp + 1e-4 * sum(plan.layers), plan, predictions

    def select(self, number, results):
        results.sort(key=lambda result: result[0])
        score, champion, predictions = results[0]
        self.widths = champion.layers
        self.scores.append(score)
        self.hall.append((score, champion.__name__, predictions))
        if number >= ARCHIVE_FROM:
            log = ChampionLog(champion.__name__)
            for shift in range(9):
                log.add(np.roll(predictions, shift, axis=0))
            log.close()
        for _, plan, _ in results:
            retire(plan)
        return score


def main():
    search = Search(41)
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for number in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("breed"):
                plans = search.breed()
            with guard.phase("distil"):
                results = [search.distil(plan) for plan in plans]
            with guard.phase("select"):
                score = search.select(number, results)
            if number % 20 == 0:
                print(f"generation {number}: score {score:.4f} mean {np.mean(search.scores):.4f} widths {search.widths}")


if __name__ == "__main__":
    main()
