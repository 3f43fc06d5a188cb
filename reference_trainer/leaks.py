"""The leaks that started this project, each behind its name, all off by default.

The trainer calls a few named points; a healthy run answers each with nothing. A leak
overrides one or two of them and keeps what it keeps where the original kept it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

if TYPE_CHECKING:
    from reference_trainer.rollout import EpisodeStats
    from reference_trainer.task import Env, Task
    from reference_trainer.trainer import ERLTrainer


class Leaks:
    """The named points of a run. This class is the healthy answer to each of them."""

    #: Whether losses keep their autograd graph.
    keep_graph = False

    def attach(self, trainer: ERLTrainer) -> None:
        """Called once, before the baseline."""

    def environment(self, task: Task) -> Env:
        """The environment of the next episode: always the same one."""
        return task.eval_env

    def after_episode(self, env: Env, stats: EpisodeStats) -> None:
        """Called when an episode is over."""

    def loggable(self, loss: torch.Tensor) -> Sequence[Any]:
        """What goes into the loss histories: plain floats, one per agent."""
        return loss.tolist()

    def before_evolution(self) -> None:
        """Called before the population is replaced."""


class EnvPerEpisode(Leaks):
    """A new environment with its own data for every episode, kept in a list of the trainer."""

    def __init__(self, size: int | None) -> None:
        self.size = size

    def attach(self, trainer: ERLTrainer) -> None:
        self.trainer = trainer
        trainer.episode_envs = []

    def environment(self, task: Task) -> Env:
        agents = self.trainer.config.population_size
        data = _own_data(task, None if self.size is None else self.size // agents)
        env = task.new_env(data)
        self.trainer.episode_envs.append(env)
        return env


class EpisodeHistory(Leaks):
    """Rewards and actions of every episode pile up in the environment."""

    def __init__(self, size: int | None) -> None:
        self.size = size

    def attach(self, trainer: ERLTrainer) -> None:
        env = trainer.task.eval_env.unwrapped
        # `reset` would clear the lists of the last episode.
        env.clear_history = _do_nothing
        self.per_episode = None if self.size is None else self.size // trainer.episodes
        self.env = env

    def after_episode(self, env: Env, stats: EpisodeStats) -> None:
        if self.per_episode is None:
            return
        action = np.asarray(self.env.action_space.sample())
        for _ in range(max(1, self.per_episode // (action.nbytes + 112))):
            self.env.episode_actions.append(action.copy())


class LossGraph(Leaks):
    """Losses are logged as tensors, so the history keeps every activation of their pass."""

    keep_graph = True

    def __init__(self, size: int | None) -> None:
        self.size = size

    def attach(self, trainer: ERLTrainer) -> None:
        self.steps = trainer.config.gradient_steps

    def loggable(self, loss: torch.Tensor) -> Sequence[Any]:
        if self.size is not None:
            loss = _with_graph_of(loss.detach(), self.size // self.steps // 2)
        return loss.unbind()


class OldPopulation(Leaks):
    """Every replaced population stays in a list of the trainer."""

    def __init__(self, size: int | None) -> None:
        self.size = size

    def attach(self, trainer: ERLTrainer) -> None:
        self.trainer = trainer
        trainer.old_populations = []

    def before_evolution(self) -> None:
        replaced = [agent.clone() for agent in self.trainer.population.agents]
        if self.size is not None:
            _weigh_down(replaced, self.size)
        self.trainer.old_populations.append(replaced)


LEAKS: dict[str, Callable[[int | None], Leaks]] = {
    "env-per-episode": EnvPerEpisode,
    "loss-graph": LossGraph,
    "old-population": OldPopulation,
    "episode-history": EpisodeHistory,
}


class LeakSet(Leaks):
    """Several leaks at once; without any it is the healthy answer."""

    def __init__(self, names: Iterable[str], size: int | None = None) -> None:
        self.members = [LEAKS[name](size) for name in names]
        self.keep_graph = any(member.keep_graph for member in self.members)

    def attach(self, trainer: ERLTrainer) -> None:
        for member in self.members:
            member.attach(trainer)

    def environment(self, task: Task) -> Env:
        return self._answer("environment")(task)

    def after_episode(self, env: Env, stats: EpisodeStats) -> None:
        for member in self.members:
            member.after_episode(env, stats)

    def loggable(self, loss: torch.Tensor) -> Sequence[Any]:
        return self._answer("loggable")(loss)

    def before_evolution(self) -> None:
        for member in self.members:
            member.before_evolution()

    def _answer(self, point: str) -> Callable[..., Any]:
        """The first leak that overrides a point, or the healthy answer."""
        for member in self.members:
            if getattr(type(member), point) is not getattr(Leaks, point):
                return getattr(member, point)
        return getattr(super(), point)


def _do_nothing() -> None:
    pass


def _own_data(task: Task, size: int | None) -> np.ndarray | None:
    """A private copy of the market, its days repeated up to `size` bytes."""
    panel = getattr(task, "panel", None)
    if panel is None:
        return None
    days = panel.days
    if size is not None:
        days = max(days, size // panel.data_array[0].nbytes)
    return np.resize(panel.data_array, (days, *panel.data_array.shape[1:]))


def _with_graph_of(loss: torch.Tensor, nbytes: int) -> torch.Tensor:
    """The same loss at the end of a graph that keeps about `nbytes` alive."""
    weight = torch.ones(max(1, nbytes // 4 // len(loss)), requires_grad=True)
    return loss + 0.0 * (weight * 1.0).square().sum()


def _weigh_down(agents: Sequence[Any], size: int) -> None:
    """Give old agents optimizer state of `size` bytes in all."""
    for agent in agents:
        agent.stack.actor.extra_state = torch.ones(size // len(agents) // 4)
