"""The population plays its episodes: in this process, or in several with the same result."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch

from reference_trainer.config import Config
from reference_trainer.ddpg import AgentStack, DDPGAgent
from reference_trainer.leaks import Leaks
from reference_trainer.noise import make_noise
from reference_trainer.population import Population, learning_rules
from reference_trainer.replay_buffer import ReplayBuffer
from reference_trainer.rollout import EpisodeStats, play_episode
from reference_trainer.streams import Purpose, stream
from reference_trainer.task import EpisodePlan, Task, make_task


@dataclass(frozen=True)
class Round:
    """What all agents play in one generation."""

    generation: int
    plans: Sequence[EpisodePlan]
    random: bool


class Evaluator(Protocol):
    """Plays a round; yields the episodes of each member in order, transitions in the buffer."""

    def play(self, population: Population, round_: Round) -> Iterator[list[EpisodeStats]]: ...

    def close(self) -> None: ...


class LocalEvaluator:
    """One episode after the other in the one evaluation environment."""

    def __init__(self, config: Config, task: Task, buffer: ReplayBuffer, leaks: Leaks) -> None:
        self.config, self.task, self.buffer, self.leaks = config, task, buffer, leaks

    def play(self, population: Population, round_: Round) -> Iterator[list[EpisodeStats]]:
        """Every member's episodes, member by member."""
        for member, agent in enumerate(population.agents):
            yield [self._episode(agent, member, number, round_)
                   for number in range(len(round_.plans))]  # fmt: skip

    def close(self) -> None:
        """Nothing was opened."""

    def _episode(self, agent: DDPGAgent, member: int, number: int, round_: Round) -> EpisodeStats:
        env, plan = self.leaks.environment(self.task), round_.plans[number]
        stats = play_episode(
            env,
            agent,
            seed=plan.seed,
            options=plan.options,
            explore=exploration(self.config, round_, member, number),
            buffer=self.buffer,
            member=member,
            random=round_.random,
        )
        self.leaks.after_episode(env, stats)
        return stats


class PoolEvaluator:
    """Members are spread over processes; each has one environment and maps the same panel.

    Episodes come back as tapes and are played into the buffer in the order of the members, so
    the run is the same, number for number, as with `LocalEvaluator`.
    """

    def __init__(self, config: Config, buffer: ReplayBuffer) -> None:
        self.buffer = buffer
        self.pool = ProcessPoolExecutor(
            config.workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_open_worker,
            initargs=(config, buffer.storage.needs_observation),
        )

    def play(self, population: Population, round_: Round) -> Iterator[list[EpisodeStats]]:
        """Every member's episodes, in the members' order."""
        jobs = [
            (member, agent.stack.actor.values[0].numpy(), agent.noise_scale, round_)
            for member, agent in enumerate(population.agents)
        ]
        for tapes in self.pool.map(_play_member, jobs):
            for tape in tapes:
                tape.play_into(self.buffer)
            yield [tape.stats for tape in tapes]

    def close(self) -> None:
        """End the processes."""
        self.pool.shutdown()


@dataclass
class Tape:
    """The calls that an episode would have made to a buffer."""

    stats: EpisodeStats = field(default=EpisodeStats(0.0, 0, None))
    calls: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    keep_observations: bool = True

    def begin(self, observation: np.ndarray, info: Mapping[str, Any], agent: int) -> None:
        """Record the first state."""
        self.calls.append(("begin", (self._kept(observation), dict(info), agent)))

    def add(
        self,
        action: np.ndarray,
        reward: float,
        terminated: bool,
        observation: np.ndarray,
        info: Mapping[str, Any],
        agent: int,
    ) -> None:
        """Record a step."""
        step = (action, reward, terminated, self._kept(observation), dict(info), agent)
        self.calls.append(("add", step))

    def end(self) -> None:
        """Record the end of the episode."""
        self.calls.append(("end", ()))

    def play_into(self, buffer: ReplayBuffer) -> None:
        """Make the recorded calls."""
        for name, arguments in self.calls:
            getattr(buffer, name)(*arguments)

    def _kept(self, observation: np.ndarray) -> np.ndarray:
        return observation if self.keep_observations else observation[:0]


def exploration(
    config: Config, round_: Round, member: int, number: int
) -> np.random.Generator | None:
    """The noise of one episode; None when fitness is measured without any."""
    if not (round_.random or config.explore_in_fitness):
        return None
    return stream(config.seed, Purpose.EVALUATION, round_.generation, member, number)


@dataclass
class _Worker:
    config: Config
    task: Task
    agent: DDPGAgent
    keep_observations: bool


_worker: list[_Worker] = []


def _open_worker(config: Config, keep_observations: bool) -> None:
    """Runs once in each process: one environment, one agent to pour genomes into."""
    torch.set_num_threads(1)
    task = make_task(config)
    stack = AgentStack.create(
        task.architecture,
        learning_rules(config),
        1,
        actor_lr=0.0,
        critic_lr=0.0,
        generator=torch.Generator(),
    )
    agent = DDPGAgent(stack, noise=config.noise, noise_scale=0.0)
    _worker[:] = [_Worker(config, task, agent, keep_observations)]


def _play_member(job: tuple[int, np.ndarray, float, Round]) -> list[Tape]:
    worker, (member, genome, noise_scale, round_) = _worker[0], job
    config, agent = worker.config, worker.agent
    agent.stack.actor.values[0] = torch.from_numpy(genome)
    size = worker.task.architecture.action_size
    agent.noise = make_noise(config.noise, size, noise_scale)
    tapes = []
    for number, plan in enumerate(round_.plans):
        tape = Tape(keep_observations=worker.keep_observations)
        tape.stats = play_episode(
            worker.task.eval_env,
            agent,
            seed=plan.seed,
            options=plan.options,
            explore=exploration(config, round_, member, number),
            buffer=tape,
            member=member,
            random=round_.random,
        )
        tapes.append(tape)
    return tapes
