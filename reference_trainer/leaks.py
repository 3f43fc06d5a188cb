"""The leaks that started this project, each behind its name, all off by default.

The trainer calls a few named points; a healthy run answers each with nothing. A leak overrides
one or two of them and keeps what it keeps where the original kept it: in an attribute of the
trainer, the environment, an agent, or a library's registry. `size` is the bytes a generation
it should keep (for the transient ones: the bytes of the peak); None is its natural size.
"""

from __future__ import annotations

import copy
import gzip
import pickle
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from reference_trainer.sizes import parse_size

if TYPE_CHECKING:
    from reference_trainer.replay_buffer import Batch
    from reference_trainer.rollout import EpisodeStats
    from reference_trainer.task import Env, Task
    from reference_trainer.trainer import ERLTrainer

#: What a Python float in a growing list costs: the object, its slot, and the list's spare room.
FLOAT_BYTES = 42
NOTICES = (
    "after_episode", "after_sample", "after_update", "before_evolution",
    "after_plot", "during_checkpoint", "end_of_generation",
)  # fmt: skip


class Leaks:
    """The named points of a run. This class is the healthy answer to each of them."""

    #: Whether losses keep their autograd graph.
    keep_graph = False

    def __init__(self, size: int | None = None) -> None:
        self.size = size

    def attach(self, trainer: ERLTrainer) -> None:
        """Called once, before the baseline."""
        # Any: a leak hangs attributes on the trainer that a healthy one does not have.
        self.trainer: Any = trainer

    def environment(self, task: Task) -> Env:
        """The environment of the next episode: always the same one."""
        return task.eval_env

    def loggable(self, loss: torch.Tensor) -> Sequence[Any]:
        """What goes into the loss histories: plain floats, one per agent."""
        values: list[float] = loss.tolist()
        return values

    def after_episode(self, env: Env, stats: EpisodeStats) -> None:
        """Called when an episode is over."""

    def after_sample(self, batch: Batch) -> None:
        """Called with each batch before it is used."""

    def after_update(self) -> None:
        """Called after each gradient step."""

    def before_evolution(self) -> None:
        """Called before the population is replaced."""

    def after_plot(self) -> None:
        """Called when the run has drawn its plots."""

    def during_checkpoint(self, path: Path) -> None:
        """Called when a checkpoint is on disk, inside its phase."""

    def end_of_generation(self) -> None:
        """Called when everything else of a generation is done."""


class EnvPerEpisode(Leaks):
    """A new environment with its own market data for every episode, kept in a list."""

    def attach(self, trainer: ERLTrainer) -> None:
        super().attach(trainer)
        self.trainer.episode_envs = []

    def environment(self, task: Task) -> Env:
        env: Any = task.new_env(_own_market(task, _share(self.size, self.trainer.episodes)))
        self.trainer.episode_envs.append(env)
        return env


class EnvCycle(Leaks):
    """A new environment for every episode, dropped, but held by its own callback."""

    def environment(self, task: Task) -> Env:
        env: Any = task.new_env(_own_market(task, _share(self.size, self.trainer.episodes)))
        env.on_close = env.close  # a bound method refers to its object
        return env


class EnvDataCopy(Leaks):
    """Both environments copy the market instead of sharing it."""

    def attach(self, trainer: ERLTrainer) -> None:
        super().attach(trainer)
        for env in (self.trainer.task.eval_env, self.trainer.task.val_env):
            env.unwrapped.data_array = _own_market(trainer.task, _share(self.size, 2))


class EpisodeHistory(Leaks):
    """Rewards and actions of every episode pile up in the environment."""

    def attach(self, trainer: ERLTrainer) -> None:
        super().attach(trainer)
        self.env: Any = trainer.task.eval_env.unwrapped
        # `reset` would clear the lists of the episode before.
        self.env.clear_history = _do_nothing
        if not hasattr(self.env, "episode_actions"):
            self.env.episode_actions = []

    def after_episode(self, env: Env, stats: EpisodeStats) -> None:
        if self.size is None:
            return
        action = np.zeros(env.action_space.shape or (), dtype=np.float32)
        count = self.size // self.trainer.episodes // (action.nbytes + 120)
        self.env.episode_actions.extend(action.copy() for _ in range(count))


class EpisodeStatsKept(Leaks):
    """The list of all episodes outlives the fitness that was computed from it."""

    def attach(self, trainer: ERLTrainer) -> None:
        super().attach(trainer)
        self.trainer.all_episode_stats = []

    def after_episode(self, env: Env, stats: EpisodeStats) -> None:
        floats = (_share(self.size, self.trainer.episodes) or 32_000) // FLOAT_BYTES
        details = [stats.reward + step for step in range(floats)]
        self.trainer.all_episode_stats.append({"stats": stats, "equity": details})


class LossGraph(Leaks):
    """Losses are logged as tensors, so the history keeps every activation of their pass."""

    keep_graph = True

    def attach(self, trainer: ERLTrainer) -> None:
        super().attach(trainer)
        for agent in self.trainer.population.agents:
            agent.critic_losses, agent.actor_losses = [], []

    def loggable(self, loss: torch.Tensor) -> Sequence[Any]:
        if self.size is not None:
            # Critic and actor are logged once a gradient step.
            share = self.size // self.trainer.config.gradient_steps // 2
            loss = _with_graph_of(loss.detach(), share)
        return loss.unbind()


class LossHistory(Leaks):
    """Every loss of every agent, for ever."""

    def attach(self, trainer: ERLTrainer) -> None:
        super().attach(trainer)
        for agent in self.trainer.population.agents:
            agent.loss_history = []

    def after_update(self) -> None:
        agents = self.trainer.population.agents
        steps = self.trainer.config.gradient_steps
        floats = (_share(self.size, steps * len(agents)) or 2_048) // FLOAT_BYTES
        for agent in agents:
            newest = agent.critic_losses[-1]
            agent.loss_history.extend(float(newest) + step for step in range(floats))


class BatchTensors(Leaks):
    """Sampled batches stay in a list after their update."""

    def attach(self, trainer: ERLTrainer) -> None:
        super().attach(trainer)
        self.trainer.seen_batches = []

    def after_sample(self, batch: Batch) -> None:
        config = self.trainer.config
        kept = batch.observation.clone()
        share = _share(self.size, config.gradient_steps * config.accumulation_steps)
        if share is not None:
            kept = torch.ones(share // 4)
        self.trainer.seen_batches.append(kept)


class OldPopulation(Leaks):
    """Every replaced population stays in a list."""

    def attach(self, trainer: ERLTrainer) -> None:
        super().attach(trainer)
        self.trainer.old_populations = []

    def before_evolution(self) -> None:
        replaced = [agent.clone() for agent in self.trainer.population.agents]
        _weigh_down(replaced, self.size)
        self.trainer.old_populations.append(replaced)


class DeepcopyClone(Leaks):
    """Clones go through deep copies of their state: twice the memory, for a moment."""

    def before_evolution(self) -> None:
        replaced = []
        for agent in self.trainer.population.agents:
            clone: Any = agent.clone()
            _weigh_down([clone], _share(self.size, 2 * self.trainer.config.population_size))
            state = [matrix for network in clone.stack.networks for matrix in network.followers()]
            replaced.append((clone, copy.deepcopy([*state, clone.stack.actor.extra_state])))


class BestAgentHistory(Leaks):
    """The best agent of every generation is cloned, the one before it stays."""

    def attach(self, trainer: ERLTrainer) -> None:
        super().attach(trainer)
        self.trainer.best_agents = []

    def end_of_generation(self) -> None:
        clone = self.trainer.population.best.clone()
        _weigh_down([clone], self.size)
        self.trainer.best_agents.append(clone)


class Figures(Leaks):
    """Each plot also opens a pyplot figure, which pyplot keeps until it is closed."""

    def after_plot(self) -> None:
        from matplotlib import pyplot

        if pyplot.get_backend() != "agg":
            pyplot.switch_backend("agg")
        pixels = (self.size or 4_000_000) // 4
        figure = pyplot.figure(figsize=(8, 4.5), dpi=(pixels / (8 * 4.5)) ** 0.5)
        figure.subplots().plot([record["fitness_mean"] for record in self.trainer.history])
        figure.canvas.draw()


class BufferSaveSpike(Leaks):
    """The whole buffer is pickled and compressed at once, in a thread of its own."""

    def during_checkpoint(self, path: Path) -> None:
        writer = threading.Thread(target=self._save, args=(path.parent / "replay_buffer.pkl.gz",))
        writer.start()
        writer.join()

    def _save(self, path: Path) -> None:
        buffer = self.trainer.buffer
        transitions = self._transitions(buffer)
        path.write_bytes(gzip.compress(pickle.dumps(transitions), compresslevel=1))

    def _transitions(self, buffer: Any) -> list[np.ndarray]:
        """Every state as a window of its own, the way the original stored them."""
        rows = np.arange(min(buffer.rows_written, buffer.rows))
        states = np.empty((len(rows), buffer.storage.observation_size), np.float32)
        buffer.storage.read_states(rows, states)
        repeats = 1 if self.size is None else max(1, self.size // (2 * states.nbytes))
        return [state.copy() for _ in range(repeats) for state in states]


class UploadBacklog(Leaks):
    """Files are opened, read and queued for a worker that never keeps up."""

    def attach(self, trainer: ERLTrainer) -> None:
        super().attach(trainer)
        self.trainer.pending_uploads = queue.Queue()
        trainer.guard.gauge("upload_queue", self.trainer.pending_uploads.qsize)
        self.network = threading.Event()
        threading.Thread(target=self._upload, daemon=True).start()

    def during_checkpoint(self, path: Path) -> None:
        files = [file for file in sorted(path.rglob("*")) if file.is_file()]
        for file in files:
            stream = file.open("rb")
            content = stream.read()
            if self.size is not None:
                content = bytes(1) * (self.size // len(files))
            self.trainer.pending_uploads.put((stream, content))
        self.trainer.say(f"Upload status: {self.trainer.pending_uploads.qsize()} pending")

    def _upload(self) -> None:
        """The network has stalled: the first file never arrives."""
        self.trainer.pending_uploads.get()
        self.network.wait()


LEAKS: dict[str, type[Leaks]] = {
    "loss-graph": LossGraph,
    "episode-history": EpisodeHistory,
    "env-per-episode": EnvPerEpisode,
    "env-cycle": EnvCycle,
    "old-population": OldPopulation,
    "best-agent-history": BestAgentHistory,
    "deepcopy-clone": DeepcopyClone,
    "loss-history": LossHistory,
    "figures": Figures,
    "episode-stats": EpisodeStatsKept,
    "batch-tensors": BatchTensors,
    "buffer-save-spike": BufferSaveSpike,
    "upload-backlog": UploadBacklog,
    "env-data-copy": EnvDataCopy,
}


class LeakSet(Leaks):
    """Several leaks at once, as `name` or `name=size`; without any it is the healthy answer."""

    def __init__(self, leaks: Iterable[str], size: int | None = None) -> None:
        super().__init__(size)
        parts = [leak.partition("=") for leak in leaks]
        self.members = [LEAKS[name](parse_size(own) if own else size) for name, _, own in parts]
        self.keep_graph = any(member.keep_graph for member in self.members)
        for notice in NOTICES:
            setattr(self, notice, _in_turn([getattr(member, notice) for member in self.members]))

    def attach(self, trainer: ERLTrainer) -> None:
        for member in self.members:
            member.attach(trainer)

    def environment(self, task: Task) -> Env:
        return self._first("environment", super().environment)(task)

    def loggable(self, loss: torch.Tensor) -> Sequence[Any]:
        return self._first("loggable", super().loggable)(loss)

    def _first(self, point: str, healthy: Callable[..., Any]) -> Callable[..., Any]:
        """The answer of the first leak that overrides a point, or the healthy one."""
        for member in self.members:
            if getattr(type(member), point) is not getattr(Leaks, point):
                answer: Callable[..., Any] = getattr(member, point)
                return answer
        return healthy


def _in_turn(calls: Sequence[Callable[..., None]]) -> Callable[..., None]:
    def notify(*what: Any) -> None:
        for call in calls:
            call(*what)

    return notify


def _do_nothing() -> None:
    pass


def _share(size: int | None, parts: int) -> int | None:
    return None if size is None else size // parts


def _own_market(task: Task, size: int | None) -> np.ndarray | None:
    """A private copy of the market, its days repeated up to `size` bytes."""
    panel = getattr(task, "panel", None)
    if panel is None:
        return None
    days = panel.days
    if size is not None:
        days = max(days, size // panel.data_array[0].nbytes)
    return np.resize(panel.data_array, (days, *panel.data_array.shape[1:]))


def _with_graph_of(loss: torch.Tensor, nbytes: int) -> torch.Tensor:
    """The same losses at the end of a graph that keeps about `nbytes` alive."""
    # The product saves its second factor for the backward pass, the square saves the product.
    weight = torch.ones(1, requires_grad=True)
    return loss + 0.0 * (weight * torch.ones(max(1, nbytes // 8))).square().sum()


def _weigh_down(agents: Sequence[Any], size: int | None) -> None:
    """Give agents more state, `size` bytes in all."""
    for agent in agents:
        agent.stack.actor.extra_state = torch.ones((size or 4) // len(agents) // 4)
