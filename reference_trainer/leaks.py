"""The leaks that started this project, each behind its name, all off by default.

Each overrides a point or two of `hooks` and keeps what it keeps where the original kept it: in an
attribute of the trainer, the environment, an agent, or a library's registry. `size` is the bytes a
generation it should keep (for the transient ones: the bytes of the peak); None is its natural size.
A leak of your own is one class here and its name in `LEAKS`.
"""

from __future__ import annotations

import copy
import gzip
import pickle
import queue
import re
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from reference_trainer.errors import ConfigError
from reference_trainer.hooks import Hooks

if TYPE_CHECKING:
    from reference_trainer.replay_buffer import Batch
    from reference_trainer.rollout import EpisodeStats
    from reference_trainer.task import Env
    from reference_trainer.trainer import ERLTrainer

#: What a Python float in a growing list costs: the object, its slot, and the list's spare room.
FLOAT_BYTES = 42
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KI": 2**10, "MI": 2**20, "GI": 2**30}


class Leak(Hooks):
    """What all leaks share: their size, and the trainer on which they hang what they keep."""

    def __init__(self, size: int | None = None) -> None:
        self.size = size

    def attach(self, trainer: ERLTrainer) -> None:
        # Any: a leak hangs attributes on the trainer that a healthy one does not have.
        self.trainer: Any = trainer


class EnvPerEpisode(Leak):
    """A new environment with its own market data for every episode, kept in a list."""

    def attach(self, trainer: ERLTrainer) -> None:
        super().attach(trainer)
        self.trainer.episode_envs = []

    def environment(self, env: Env) -> Env:
        env = self.trainer.task.new_env()
        _give_market(env, _share(self.size, self.trainer.episodes))
        self.trainer.episode_envs.append(env)
        return env


class EnvCycle(Leak):
    """A new environment for every episode, dropped, but held by its own callback."""

    def environment(self, env: Env) -> Env:
        new: Any = self.trainer.task.new_env()
        _give_market(new, _share(self.size, self.trainer.episodes))
        new.on_close = new.close  # a bound method refers to its object
        return new


class EnvDataCopy(Leak):
    """Both environments copy the market instead of sharing it."""

    def attach(self, trainer: ERLTrainer) -> None:
        for env in (trainer.task.eval_env, trainer.task.val_env):
            _give_market(env, _share(self.size, 2))


class EpisodeHistory(Leak):
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


class EpisodeStatsKept(Leak):
    """The list of all episodes outlives the fitness that was computed from it."""

    def attach(self, trainer: ERLTrainer) -> None:
        super().attach(trainer)
        self.trainer.all_episode_stats = []

    def after_episode(self, env: Env, stats: EpisodeStats) -> None:
        floats = (_share(self.size, self.trainer.episodes) or 32_000) // FLOAT_BYTES
        details = [stats.reward + step for step in range(floats)]
        self.trainer.all_episode_stats.append({"stats": stats, "equity": details})


class LossGraph(Leak):
    """Losses are logged as tensors, so the history keeps every activation of their pass."""

    def attach(self, trainer: ERLTrainer) -> None:
        super().attach(trainer)
        for agent in self.trainer.population.agents:
            agent.critic_losses, agent.actor_losses = [], []
        self.critic: list[torch.Tensor] = []
        self.actor: list[torch.Tensor] = []

    def after_sample(self, batch: Batch) -> None:
        stack = self.trainer.population.trained
        self.critic.append(stack.critic_loss(batch, stack.td_target(batch)))
        self.actor.append(stack.actor_loss(batch))

    def after_update(self) -> None:
        agents = self.trainer.population.agents
        for agent, loss in zip(agents, self._logged(self.critic), strict=True):
            agent.critic_losses[-1] = loss
        for agent, loss in zip(agents, self._logged(self.actor), strict=True):
            agent.actor_losses[-1] = loss

    def _logged(self, losses: list[torch.Tensor]) -> Sequence[torch.Tensor]:
        loss = torch.stack(losses).mean(0)
        losses.clear()
        if self.size is not None:
            # Critic and actor are logged once a gradient step.
            share = self.size // self.trainer.config.gradient_steps // 2
            loss = _with_graph_of(loss.detach(), share)
        return loss.unbind()


class LossHistory(Leak):
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


class BatchTensors(Leak):
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


class OldPopulation(Leak):
    """Every replaced population stays in a list."""

    def attach(self, trainer: ERLTrainer) -> None:
        super().attach(trainer)
        self.trainer.old_populations = []

    def before_evolution(self) -> None:
        replaced = [agent.clone() for agent in self.trainer.population.agents]
        _weigh_down(replaced, self.size)
        self.trainer.old_populations.append(replaced)


class DeepcopyClone(Leak):
    """Clones go through deep copies of their state: twice the memory, for a moment."""

    def before_evolution(self) -> None:
        replaced = []
        for agent in self.trainer.population.agents:
            clone: Any = agent.clone()
            _weigh_down([clone], _share(self.size, 2 * self.trainer.config.population_size))
            state = [matrix for network in clone.stack.networks for matrix in network.followers()]
            replaced.append((clone, copy.deepcopy([*state, clone.stack.actor.extra_state])))


class BestAgentHistory(Leak):
    """The best agent of every generation is cloned, the one before it stays."""

    def attach(self, trainer: ERLTrainer) -> None:
        super().attach(trainer)
        self.trainer.best_agents = []

    def end_of_generation(self) -> None:
        clone = self.trainer.population.best.clone()
        _weigh_down([clone], self.size)
        self.trainer.best_agents.append(clone)


class Figures(Leak):
    """Each plot also opens a pyplot figure, which pyplot keeps until it is closed."""

    def after_plot(self) -> None:
        from matplotlib import pyplot

        if pyplot.get_backend() != "agg":
            pyplot.switch_backend("agg")
        pixels = (self.size or 4_000_000) // 4
        figure = pyplot.figure(figsize=(8, 4.5), dpi=(pixels / (8 * 4.5)) ** 0.5)
        figure.subplots().plot([record["fitness_mean"] for record in self.trainer.history])
        figure.canvas.draw()


class BufferSaveSpike(Leak):
    """The whole buffer is pickled and compressed at once, in a thread of its own."""

    def after_checkpoint(self, path: Path) -> None:
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


class UploadBacklog(Leak):
    """Files are opened, read and queued for a worker that never keeps up."""

    def attach(self, trainer: ERLTrainer) -> None:
        super().attach(trainer)
        self.trainer.uploader = StalledUploader(self.size)


class StalledUploader:
    """In the place of the trainer's own: it queues contents without bound, and sends none."""

    capacity = None

    def __init__(self, size: int | None) -> None:
        self.size = size
        self.pending_uploads: queue.Queue[Any] = queue.Queue()
        self.network = threading.Event()
        threading.Thread(target=self._upload, daemon=True).start()

    @property
    def pending(self) -> int:
        """Files in the queue."""
        return self.pending_uploads.qsize()

    def enqueue(self, path: Path) -> None:
        """Open, read and queue every file of a checkpoint."""
        files = [file for file in sorted(path.rglob("*")) if file.is_file()]
        for file in files:
            stream = file.open("rb")
            content = stream.read()
            if self.size is not None:
                content = bytes(1) * (self.size // len(files))
            self.pending_uploads.put((stream, content))

    def status(self) -> str:
        """One line for the system status."""
        return f"Upload status: {self.pending} pending"

    def close(self) -> None:
        """The worker is left where it hangs."""

    def _upload(self) -> None:
        """The network has stalled: the first file never arrives."""
        self.pending_uploads.get()
        self.network.wait()


LEAKS: dict[str, type[Leak]] = {
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


def planted(leaks: Iterable[str], size: int | None = None) -> list[Hooks]:
    """The leaks called `name` or `name=size`, those without a size of their own with `size`.

    Raises `ConfigError` on a name or a size that does not exist.
    """
    parts = [leak.partition("=") for leak in leaks]
    for name, _, _ in parts:
        if name not in LEAKS:
            raise ConfigError(f"no leak called {name!r}: choose from {', '.join(LEAKS)}")
    return [LEAKS[name](parse_size(own) if own else size) for name, _, own in parts]


def parse_size(text: str) -> int:
    """Bytes from a number with a unit, e.g. `20 MB`; more than none."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMG]?I?)B?\s*", text.upper())
    if found is None or found[2] not in UNITS:
        raise ConfigError(f'{text!r} is not a size: write it like "20 MB"')
    size = int(float(found[1]) * UNITS[found[2]])
    if size <= 0:
        raise ConfigError(f"a leak of {text} is no leak: give a size above 0")
    return size


def _do_nothing() -> None:
    pass


def _share(size: int | None, parts: int) -> int | None:
    return None if size is None else size // parts


def _give_market(env: Env, size: int | None) -> None:
    """Let a trading environment have a market of its own, its days repeated up to `size` bytes."""
    task: Any = env.unwrapped
    if not hasattr(task, "data_array"):
        return
    days, *shape = task.data_array.shape
    if size is not None:
        days = max(days, size // task.data_array[0].nbytes)
    task.data_array = np.resize(task.data_array, (days, *shape))


def _with_graph_of(loss: torch.Tensor, nbytes: int) -> torch.Tensor:
    """The same losses at the end of a graph that keeps about `nbytes` alive."""
    # The product saves its second factor for the backward pass, the square saves the product.
    weight = torch.ones(1, requires_grad=True)
    return loss + 0.0 * (weight * torch.ones(max(1, nbytes // 8))).square().sum()


def _weigh_down(agents: Sequence[Any], size: int | None) -> None:
    """Give agents more state, `size` bytes in all."""
    for agent in agents:
        agent.stack.actor.extra_state = torch.ones((size or 4) // len(agents) // 4)
