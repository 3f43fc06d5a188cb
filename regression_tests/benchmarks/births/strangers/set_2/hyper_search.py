"""Random search over learning rates and widths with early stopping."""
import concurrent.futures
import random
import sys
import time
import weakref

import torch
import torch.nn.functional as F
from torch import nn

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
torch.set_num_threads(1)
torch.manual_seed(1)
random.seed(1)
TRIALS, WARM_TRIALS = 42, 14
shutdown = concurrent.futures.Future()  # resolved when the operator stops the search


class Study:
    def __init__(self):
        self.best = (float("inf"), None)
        self.history = []


class Trial:
    def __init__(self, rate, width, stop):
        self.net = nn.Sequential(nn.Linear(64, width), nn.GELU(), nn.Linear(width, 64))
        self.optimizer = torch.optim.Adam(self.net.parameters(), rate)
        self.stopped = False
        stop.add_done_callback(self.abort)

    def abort(self, _):
        self.stopped = True

    def run(self, data):
        losses = []
        for _ in range(12):
            if self.stopped:
                break
            loss = F.mse_loss(self.net(data), data.roll(1, 1))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return losses


def make_reporter():
    traces = []

    def report(losses, net, data):
        with torch.no_grad():
            traces.append((losses[-1], (net(data) - data).abs().mean(0).repeat(40).tolist()))
        if not LEAK:
            del traces[:-3]
        return min(loss for loss, _ in traces)

    return report


def release(workspace):
    workspace.zero_()


def prepare(study):
    workspace = torch.randn(1500, 64)
    guarded = weakref.finalize(study, release, workspace)
    return workspace[:256] / workspace.std(), guarded


def suggest():
    return 10 ** random.uniform(-4, -2), random.choice([192, 256, 320])


def main():
    study, report = Study(), make_reporter()
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for number in guard.generations(range(1, TRIALS + 1)):
            with guard.phase("prepare"):
                data, guarded = prepare(study)
                rate, width = suggest()
            with guard.phase("trial"):
                trial = Trial(rate, width, shutdown if LEAK else concurrent.futures.Future())
                losses = trial.run(data)
            with guard.phase("report"):
                study.history.append(losses[-1])
                study.best = min(study.best, (losses[-1], rate))
                if number > WARM_TRIALS:
                    report(losses, trial.net, data)
            if not LEAK:
                guarded()
            time.sleep(0.05)
    print("best", study.best)


main()
