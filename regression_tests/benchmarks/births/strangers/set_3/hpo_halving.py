"""Asynchronous successive halving for a small regressor: sample, train, promote the best."""
import atexit
import collections
import heapq
import sys
import weakref

import numpy as np
import torch
from torch import nn

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
TRIALS, KEEP = 42, 5


class Diverged(RuntimeError): ...


class Scratch:
    """Working space of a trial, to be wiped at the latest when the process ends."""

    live = weakref.WeakSet()

    def __init__(self, trial):
        self.trial = trial
        self.block = np.full((120, 500), trial, dtype=np.float32)
        if FIXED:
            Scratch.live.add(self)
        else:
            atexit.register(self.wipe)

    def wipe(self):
        self.block[:] = 0.0


@atexit.register
def wipe_all():
    for scratch in list(Scratch.live):
        scratch.wipe()


def network(width):
    return nn.Sequential(nn.Linear(24, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))


class Search:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        torch.manual_seed(seed)
        self.x = torch.randn(3000, 24)
        self.y = torch.sin(self.x[:, :6].sum(1)) + 0.1 * self.x[:, 7]
        self.rungs = []
        self.failed = {}
        self.reasons = collections.deque(maxlen=3)

    def sample(self, number):
        lr = 10 ** self.rng.uniform(-3.2, -1.5)
        if number % 3 == 2:
            lr = 1e4
        return {"lr": lr, "width": int(self.rng.choice([160, 192, 224]))}

    def fit(self, config, scratch, steps=14):
        model = network(config["width"])
        optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"], momentum=0.9)
        for step in range(steps):
            part = torch.randint(0, len(self.x), (512,))
            loss = (model(self.x[part]).squeeze(-1) - self.y[part]).pow(2).mean()
            if not torch.isfinite(loss) or loss > 1e6:
                raise Diverged(f"lr {config['lr']:.1e}: loss {loss.item():.1e} in step {step}")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scratch.block[step % 120] += loss.item()
        return model, loss.item()

    def trial(self, number, config):
        scratch = Scratch(number)
        try:
            model, loss = self.fit(config, scratch)
        except Diverged as error:
            if FIXED:
                self.reasons.append(str(error))
            else:
                self.failed[number] = error
            return None
        return number, config, model, loss

    def record(self, number, config, model, loss):
        weights = {name: value.clone() for name, value in model.state_dict().items()}
        heapq.heappush(self.rungs, (loss, number, config, weights))
        if FIXED and len(self.rungs) > KEEP:
            self.rungs = heapq.nsmallest(KEEP, self.rungs)

    def promote(self):
        loss, number, config, weights = heapq.heappop(self.rungs)
        model = network(config["width"])
        model.load_state_dict(weights)
        tail = np.zeros(20)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for step in range(20):
            part = torch.randint(0, len(self.x), (512,))
            error = (model(self.x[part]).squeeze(-1) - self.y[part]).pow(2).mean()
            optimizer.zero_grad()
            error.backward()
            optimizer.step()
            tail[step] = error.item()
        weights = {name: value.clone() for name, value in model.state_dict().items()}
        heapq.heappush(self.rungs, (float(tail[15:].mean()), number, config, weights))


def main():
    torch.set_num_threads(1)
    search = Search(seed=11)
    with LeakGuard(out=sys.argv[2]) as guard:
        for number in guard.generations(range(TRIALS)):
            with guard.phase("sample"):
                config = search.sample(number)
            with guard.phase("trial"):
                outcome = search.trial(number, config)
            if outcome is not None:
                with guard.phase("record"):
                    search.record(*outcome)
            with guard.phase("promote"):
                search.promote()
    print(f"best loss {search.rungs[0][0]:.4f}")


main()
