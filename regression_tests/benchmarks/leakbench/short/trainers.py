"""Trainers: agents, environments and tensors of every generation stay."""

from __future__ import annotations

import copy
from collections import deque
from typing import Any

from regression_tests.benchmarks.leakbench.program import ROUNDS, leaking, work


class TradingEnv:
    def __init__(self, prices: Any) -> None:
        import numpy as np

        self.prices = prices
        self.portfolio = np.zeros(4_000)
        self.day = 0

    def reset(self) -> None:
        self.portfolio[:] = 1.0
        self.day = 0


class Agent:
    def __init__(self, number: int) -> None:
        import numpy as np

        self.number = number
        self.weights = np.full(20_000, number, dtype=np.float32)
        self.fitness = 0.0


class Trainer:
    def __init__(self) -> None:
        import numpy as np

        self.prices = np.zeros(10_000)
        self.population = [Agent(i) for i in range(8)]
        self.ancestors: list[list[Agent]] = []
        self.champions: list[Agent] = []
        self.envs: list[TradingEnv] = []
        self.env = TradingEnv(self.prices)
        self.memory: Any = []


@leaking("evaluate", type="TradingEnv", holder=".envs")
def env_per_episode(guard: Any, leak: bool) -> None:
    trainer = Trainer()
    for _ in guard.generations(ROUNDS):
        with guard.phase("evaluate"):
            for agent in trainer.population:
                if leak:
                    trainer.envs.append(TradingEnv(trainer.prices))
                else:
                    trainer.env.reset()
                agent.fitness += 1.0
            work()
        with guard.phase("evolve"):
            work()


@leaking("evolve", type="Agent", holder=".ancestors")
def old_populations(guard: Any, leak: bool) -> None:
    trainer = Trainer()
    for generation in guard.generations(ROUNDS):
        with guard.phase("evaluate"):
            work()
        with guard.phase("evolve"):
            if leak:
                trainer.ancestors.append(trainer.population)
            trainer.population = [Agent(generation * 10 + i) for i in range(8)]
            work()


@leaking("select", type="Agent", holder=".champions")
def best_agent_history(guard: Any, leak: bool) -> None:
    trainer = Trainer()
    for _ in guard.generations(ROUNDS):
        with guard.phase("evaluate"):
            work()
        with guard.phase("select"):
            champion = copy.deepcopy(trainer.population[0])
            if leak:
                trainer.champions.append(champion)
            else:
                trainer.champions = [champion]
            work()


class Transition:
    __slots__ = ("action", "reward", "state")

    def __init__(self, state: Any, action: Any, reward: float) -> None:
        self.state = state
        self.action = action
        self.reward = reward


@leaking("collect", type="Transition ndarray", holder=".memory")
def replay_without_bound(guard: Any, leak: bool) -> None:
    import numpy as np

    trainer = Trainer()
    trainer.memory = [] if leak else deque(maxlen=250)
    for _ in guard.generations(ROUNDS):
        with guard.phase("collect"):
            for _ in range(100):
                state, action = np.zeros(60, np.float32), np.zeros(4, np.float32)
                trainer.memory.append(Transition(state, action, 0.5))
            work()
        with guard.phase("train"):
            work()


class History:
    def __init__(self) -> None:
        self.losses: list[Any] = []
        self.hidden: Any = None
        self.targets: list[Any] = []


@leaking("train", type="Tensor", holder=".losses")
def losses_kept_with_graph(guard: Any, leak: bool) -> None:
    import torch

    torch.set_num_threads(1)
    history = History()
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    for _ in guard.generations(ROUNDS):
        with guard.phase("rollout"):
            batch = torch.randn(256, 64)
            work()
        with guard.phase("train"):
            for _ in range(4):
                loss = model(batch).pow(2).mean()
                history.losses.append(loss if leak else loss.item())
            if not leak:
                history.losses = [sum(history.losses)]
            del loss
            work()


@leaking("rollout", type="Tensor", holder=".hidden")
def hidden_state_never_detached(guard: Any, leak: bool) -> None:
    import torch

    torch.set_num_threads(1)
    history = History()
    cell = torch.nn.GRUCell(32, 64)
    history.hidden = torch.zeros(64, 64)
    for _ in guard.generations(ROUNDS):
        with guard.phase("rollout"):
            for _ in range(5):
                history.hidden = cell(torch.randn(64, 32), history.hidden)
            if not leak:
                history.hidden = history.hidden.detach()
            work()
        with guard.phase("report"):
            work()


@leaking("grow_head train", type="Parameter Tensor dict", holder=".state .param_groups params")
def optimizer_of_dead_parameters(guard: Any, leak: bool) -> None:
    import torch

    torch.set_num_threads(1)
    body = torch.nn.Linear(32, 64)
    optimizer = torch.optim.Adam(body.parameters())
    for _ in guard.generations(ROUNDS):
        with guard.phase("grow_head"):
            head = torch.nn.Linear(64, 500)
            if not leak:
                optimizer = torch.optim.Adam(body.parameters())
            optimizer.add_param_group({"params": list(head.parameters())})
            work()
        with guard.phase("train"):
            head(body(torch.randn(8, 32))).mean().backward()
            optimizer.step()
            work()


class ActivationProbe:
    def __init__(self) -> None:
        self.means: list[float] = []

    def __call__(self, module: Any, inputs: Any, output: Any) -> None:
        self.means[:] = [float(output.detach().mean())]


@leaking("probe", type="ActivationProbe", holder="_forward_hooks")
def forward_hooks_never_removed(guard: Any, leak: bool) -> None:
    import torch

    torch.set_num_threads(1)
    model = torch.nn.Sequential(*(torch.nn.Linear(16, 16) for _ in range(4)))
    for _ in guard.generations(ROUNDS):
        with guard.phase("probe"):
            handles = [layer.register_forward_hook(ActivationProbe()) for layer in model]
            with torch.no_grad():
                model(torch.zeros(4, 16))
            if not leak:
                for handle in handles:
                    handle.remove()
            del handles
            work()
        with guard.phase("train"):
            work()


@leaking("load", type="ndarray Tensor", holder=".targets")
def tensors_over_numpy_owners(guard: Any, leak: bool) -> None:
    import numpy as np
    import torch

    history = History()
    for generation in guard.generations(ROUNDS):
        with guard.phase("load"):
            table = np.full((1000, 100), float(generation))
            target = torch.from_numpy(table)[0]
            if leak:
                history.targets.append(target)
            else:
                history.targets = [target.clone()]
            del table, target
            work()
        with guard.phase("fit"):
            work()


@leaking("plot", type="Figure FigureManagerBase", holder="Gcf figs")
def figures_never_closed(guard: Any, leak: bool) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    for generation in guard.generations(ROUNDS):
        with guard.phase("train"):
            work()
        with guard.phase("plot"):
            figure, axes = plt.subplots(figsize=(2, 1))
            axes.plot([0, 1, 2], [0, generation, 1])
            if not leak:
                plt.close(figure)
            del figure, axes
            work()
