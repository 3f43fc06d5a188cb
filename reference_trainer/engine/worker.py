"""Another process of the run: one environment, and one agent to pour genomes into."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from reference_trainer.config import Config
from reference_trainer.ddpg import AgentStack, DDPGAgent
from reference_trainer.engine.evaluator import Round, exploration
from reference_trainer.engine.tape import Tape
from reference_trainer.noise import make_noise
from reference_trainer.population import Population, learning_rules
from reference_trainer.replay_buffer import ReplayBuffer
from reference_trainer.rollout import EpisodeStats, StepBudget, play_episode
from reference_trainer.task import make_task


@dataclass(frozen=True)
class Job:
    """One member's part of a round: its genome, and how boldly it explores."""

    member: int
    genome: np.ndarray
    noise_scale: float
    round_: Round


class Worker:
    """Plays members' episodes in an environment of its own, over the same mapped panel."""

    def __init__(self, config: Config, keep_observations: bool) -> None:
        torch.set_num_threads(1)
        self.config, self.keep_observations = config, keep_observations
        self.task = make_task(config)
        stack = AgentStack.create(
            self.task.architecture,
            learning_rules(config),
            1,
            actor_lr=0.0,
            critic_lr=0.0,
            generator=torch.Generator(),
        )
        self.agent = DDPGAgent(stack, noise=config.noise, noise_scale=0.0)

    def play(self, job: Job) -> list[Tape]:
        """The episodes of one member."""
        action_size = self.task.architecture.action_size
        self.agent.stack.actor.values[0] = torch.from_numpy(job.genome.copy())
        self.agent.noise = make_noise(self.config.noise, action_size, job.noise_scale)
        return [self._episode(job, number) for number in range(len(job.round_.plans))]

    def _episode(self, job: Job, number: int) -> Tape:
        tape, plan = Tape(self.keep_observations), job.round_.plans[number]
        tape.stats = play_episode(
            self.task.eval_env,
            self.agent,
            seed=plan.seed,
            options=plan.options,
            explore=exploration(self.config, job.round_, job.member, number),
            buffer=tape,
            member=job.member,
            random=job.round_.random,
            horizon=self.config.episode_steps,
        )
        return tape


def jobs(population: Population, round_: Round) -> list[Job]:
    """One job a member."""
    return [
        Job(member, agent.stack.actor.values[0].numpy(), agent.noise_scale, round_)
        for member, agent in enumerate(population.agents)
    ]


def told(tapes: list[Tape], buffer: ReplayBuffer, budget: StepBudget) -> Iterator[EpisodeStats]:
    """Play a member's tapes into the buffer, while there are steps left to take."""
    for tape in tapes:
        if budget.left:
            stats = tape.play_into(buffer, budget.left)
            budget.spend(stats.steps)
            yield stats
