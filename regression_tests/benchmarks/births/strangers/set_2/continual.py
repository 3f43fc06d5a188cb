"""A stream of drifting tasks, with elastic weight consolidation against forgetting."""
import sys
import time
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn

LEAK = sys.argv[1] == "leak"
torch.set_num_threads(1)
torch.manual_seed(13)
STAGES, PER_TASK = 54, 3


class Consolidation:
    """Fisher-weighted anchors: the loss pulls the weights towards those of finished tasks."""

    def __init__(self):
        self.anchors = []

    def finish(self, net, x, y):
        loss = F.cross_entropy(net(x), y)
        grads = torch.autograd.grad(loss, list(net.parameters()))
        fisher = [grad.square() for grad in grads]
        means = [parameter.detach().clone() for parameter in net.parameters()]
        if LEAK:
            self.anchors.append((fisher, means))
        elif not self.anchors:
            self.anchors.append((fisher, means))
        else:
            for old, new in zip(self.anchors[0][0], fisher):
                old.mul_(0.7).add_(new)
            self.anchors[0] = (self.anchors[0][0], means)

    def penalty(self, net):
        total = torch.zeros(())
        for fisher, means in self.anchors[-1:]:
            for weight, parameter, mean in zip(fisher, net.parameters(), means):
                total = total + (weight * (parameter - mean).square()).sum()
        return total


class Task:
    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        self.rotation = torch.linalg.qr(torch.randn(80, 80, generator=generator))[0]

    def batch(self, count):
        x = torch.randn(count, 80)
        return x @ self.rotation, x[:, :8].argmax(1)


def watch_drift(net, optimizer):
    before = nn.utils.parameters_to_vector(net.parameters()).detach().clone()
    drift = []

    def measure(opt, args, kwargs):
        now = nn.utils.parameters_to_vector(net.parameters()).detach()
        drift[:] = [float((now - before).norm())]

    handle = optimizer.register_step_post_hook(measure)
    return drift, handle


def stage(net, optimizer, task, consolidation, rehearsal):
    drift, handle = watch_drift(net, optimizer)
    for _ in range(6):
        x, y = task.batch(96)
        if rehearsal:
            x, y = torch.cat([x, rehearsal[0][0]]), torch.cat([y, rehearsal[0][1]])
        loss = F.cross_entropy(net(x), y) + 10 * consolidation.penalty(net)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    rehearsal.append((x[:32], y[:32]))
    if not LEAK:
        handle.remove()
    return drift[0]


def main():
    net = nn.Sequential(nn.Linear(80, 300), nn.ReLU(), nn.Linear(300, 8))
    optimizer = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9)
    consolidation, rehearsal, drifts = Consolidation(), deque(maxlen=4), []
    tasks = {}
    for number in range(1, STAGES + 1):
        key = (number - 1) // PER_TASK % 5
        task = tasks.setdefault(key, Task(key))  # five tasks come round again
        drifts.append(stage(net, optimizer, task, consolidation, rehearsal))
        if number % PER_TASK == 0:
            consolidation.finish(net, *task.batch(128))
        time.sleep(0.05)
    print("drift", round(drifts[-1], 3))


main()
