"""Reptile-style meta-learning of sine tasks, with a flatness penalty in the inner loop."""
import copy
import math
import sys
import warnings
import weakref

import torch
from torch import nn

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
torch.set_num_threads(1)
torch.manual_seed(7)
warnings.simplefilter("ignore")

ROUNDS = 90
STRESS_FROM = 31


class Diverged(ArithmeticError):
    """Gradient descent left the region where the network is usable."""


class SineTask:
    def __init__(self, gen, shots=32):
        amplitude, phase = torch.rand(2, generator=gen).tolist()
        self.amplitude = 0.5 + 4.0 * amplitude
        self.phase = math.pi * phase
        self.dense_x = torch.linspace(-5, 5, 2048).unsqueeze(1)
        self.dense_y = self.target(self.dense_x)
        self.x = 10 * torch.rand(shots, 1, generator=gen) - 5
        self.y = self.target(self.x)

    def target(self, x):
        return self.amplitude * torch.sin(x + self.phase)


class TaskSource:
    """Draws tasks and counts how many have gone out of use again."""

    def __init__(self, seed):
        self.gen = torch.Generator().manual_seed(seed)
        self.retired = 0
        self.amplitudes = 0.0

    def _retire(self, item):
        self.retired += 1
        self.amplitudes += item if FIXED else item.amplitude

    def draw(self, count):
        tasks = [SineTask(self.gen) for _ in range(count)]
        for task in tasks:
            weakref.finalize(task, self._retire, task.amplitude if FIXED else task)
        return tasks


def network(hidden=72):
    return nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))


class Reptile:
    inner_steps, inner_lr, outer_lr, flatness = 5, 0.02, 0.3, 1e-3

    def __init__(self):
        self.meta = network()

    def adapt(self, task):
        learner = copy.deepcopy(self.meta)
        params = list(learner.parameters())
        optimizer = torch.optim.SGD(params, lr=self.inner_lr)
        for _ in range(self.inner_steps):
            loss = nn.functional.mse_loss(learner(task.x), task.y)
            optimizer.zero_grad()
            if FIXED:
                grads = torch.autograd.grad(loss, params, create_graph=True)
                (loss + self.flatness * sum(g.pow(2).sum() for g in grads)).backward()
            else:
                loss.backward(create_graph=True)
                (self.flatness * sum(p.grad.pow(2).sum() for p in params)).backward()
            nn.utils.clip_grad_norm_(params, 5.0)
            optimizer.step()
        return learner, loss.item()

    @torch.no_grad()
    def outer_update(self, learners):
        for index, param in enumerate(self.meta.parameters()):
            target = torch.stack([list(net.parameters())[index] for net in learners]).mean(dim=0)
            param.lerp_(target, self.outer_lr)


class Evaluator:
    def __init__(self, meta):
        self.meta = meta
        self.last_error = None
        self.best = (float("inf"), None)

    def score(self, tasks):
        with torch.no_grad():
            error = sum(nn.functional.mse_loss(self.meta(t.dense_x), t.dense_y).item() for t in tasks) / len(tasks)
        if error < self.best[0]:
            self.best = (error, copy.deepcopy(self.meta.state_dict()))
        return error

    def descend(self, task, rate):
        probe = copy.deepcopy(self.meta)
        path = []
        for step in range(4):
            loss = nn.functional.mse_loss(probe(task.x), task.y)
            grads = torch.autograd.grad(loss, list(probe.parameters()))
            with torch.no_grad():
                for param, grad in zip(probe.parameters(), grads):
                    param -= rate * grad
            path.append(nn.utils.parameters_to_vector(probe.parameters()).detach())
        if not loss.item() < 1e3:
            raise Diverged(f"norm {path[-1].norm():.1e}") from (None if FIXED else self.last_error)
        return loss.item()

    def stress(self, task, rate):
        try:
            return self.descend(task, rate)
        except Diverged as error:
            self.last_error = error.with_traceback(None) if FIXED else error
            return float("nan")


def main():
    guard = LeakGuard(out=sys.argv[2])
    source = TaskSource(11)
    learner = Reptile()
    evaluator = Evaluator(learner.meta)
    curve = []
    with guard:
        for n in guard.generations(range(1, ROUNDS + 1)):
            with guard.phase("sample"):
                tasks = source.draw(4)
            with guard.phase("adapt"):
                adapted = [learner.adapt(task) for task in tasks]
                learner.outer_update([net for net, _ in adapted])
            with guard.phase("evaluate"):
                error = evaluator.score(tasks)
                margin = evaluator.stress(tasks[0], 0.001 if n < STRESS_FROM else 4.0)
                curve.append((n, error, margin))
    print(f"{len(curve)} rounds, error {curve[-1][1]:.3f}, best {evaluator.best[0]:.3f}, {source.retired} retired")


if __name__ == "__main__":
    main()
