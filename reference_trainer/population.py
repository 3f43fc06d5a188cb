"""The population: sixteen agents and the best one so far, as views of one stack."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import psutil
import torch

from reference_trainer.agent import DDPGAgent
from reference_trainer.config import Config
from reference_trainer.ddpg import AgentStack
from reference_trainer.errors import ConfigError
from reference_trainer.evolution import settle_target
from reference_trainer.networks import Architecture, parameter_count

#: Matrices per network that a run keeps: values, target, gradients and two Adam moments.
MATRICES = 5
#: Bytes from which a run shows what its population takes.
WORTH_A_BILL = 1e9
#: What `made_by` says of a member that evolution left alone.
KEPT = "kept"
#: What it says of one that gradients train, apart from evolution.
LEARNER = "learner"


class Population:
    """Agents 0..P-1 and, in row P, the best agent so far: always the same P + 1 objects."""

    def __init__(self, config: Config, architecture: Architecture) -> None:
        self.size = config.population_size
        generator = torch.Generator().manual_seed(config.seed)
        self.stack = AgentStack.create(
            architecture,
            self.size + 1,
            tau=config.tau,
            actor_lr=config.actor_lr,
            critic_lr=config.critic_lr,
            generator=generator,
            saturation_penalty=config.saturation_penalty,
            compiled=config.compiled,
            critics=config.critics,
        )
        self.trained = self.stack.view(0, config.trained_agents)
        self.evolving_from, self.restarts = config.evolving_from, config.restart_behind
        self.evolving = self.stack.view(self.evolving_from, self.size)
        if config.learners is not None:
            # Random policies that hardly move would leave nothing to select. Without evolution the
            # same agents begin, so a comparison shows what selection and variation do.
            self.stack.view(config.learners, self.size).actor.widen()
        scales = noise_scales(config.noise_scale, self.trained.rows)
        quiet = [0.0] * (self.size + 1 - self.trained.rows)
        members = [
            DDPGAgent(self.stack.view(row, row + 1), noise_scale=scale)
            for row, scale in enumerate([*scales, *quiet])
        ]
        self.agents, self.best = members[:-1], members[-1]
        self.learners = self.agents[: self.trained.rows]
        self.keep_as_best(0)
        self.best.fitness = None
        #: What made each member: see `Fate.operator`.
        self.made_by = [LEARNER] * self.evolving_from + [KEPT] * self.evolving.rows

    @property
    def gradient_bytes(self) -> int:
        """What the gradients of all networks take."""
        return sum(network.grad.nbytes for network in self.stack.networks)

    @property
    def judge(self) -> AgentStack | None:
        """The fittest learner, whose critic judges those that evolve; None: they have their own."""
        if not self.evolving_from:
            return None
        learner = int(np.argmax(self.fitnesses()[: self.evolving_from]))
        return self.stack.view(learner, learner + 1)

    @property
    def best_row(self) -> int:
        """The row of the best agent so far."""
        return self.size

    def keep_as_best(self, member: int) -> None:
        """Copy a member over the best agent, in place."""
        self.stack.copy_row(self.best_row, member)
        self.best.fitness = self.agents[member].fitness

    def admit_learner(self) -> int | None:
        """The fittest learner, as it has just played, takes the place of the weakest that evolve.

        It is copied with the fitness that it earned there, so it never displaces a fitter one, and
        what it learns next does not change the copy. Returns the slot, None where none was won.
        """
        first, fitnesses = self.evolving_from, self.fitnesses()
        if not first:
            return None
        learner = int(np.argmax(fitnesses[:first]))
        weakest = first + int(np.argmin(fitnesses[first:]))
        if fitnesses[learner] <= fitnesses[weakest]:
            return None
        self.stack.copy_row(weakest, learner)
        self.agents[weakest].fitness = fitnesses[learner]
        return weakest

    def restart_learner(self) -> int | None:
        """The weakest learner goes on from the actor of the fittest of those that evolve.

        Only one that earns less than most of them: gradients do not lead out of a saturated actor,
        though its critic, which stays, has seen what the others earned (Matheron et al. 2020).
        Returns the learner, None where each is as good as most, or none ever begins again.
        """
        first, fitnesses = self.evolving_from, self.fitnesses()
        if not first or not self.restarts:
            return None
        learner = int(np.argmin(fitnesses[:first]))
        if fitnesses[learner] >= np.median(fitnesses[first:]):
            return None
        actor, fittest = self.stack.actor, first + int(np.argmax(fitnesses[first:]))
        actor.values[learner].copy_(actor.values[fittest])
        settle_target(actor, learner)
        for moment in (actor.exp_avg, actor.exp_avg_sq):
            moment[learner].zero_()
        return learner

    def statistics(self) -> dict[str, dict[str, float]]:
        """Agents and mean fitness by what made them, all on the same episodes."""
        fitness: dict[str, list[float]] = {}
        for name, value in zip(self.made_by, self.fitnesses(), strict=True):
            fitness.setdefault(name, []).append(value)
        return {
            name: {"agents": len(values), "fitness": float(np.mean(values))}
            for name, values in sorted(fitness.items())
        }

    def fitnesses(self) -> list[float]:
        """The fitness of each member; raises `RuntimeError` before the first evaluation."""
        values = [agent.fitness for agent in self.agents]
        if None in values:
            raise RuntimeError("the population has not been evaluated yet")
        return [value for value in values if value is not None]


def noise_scales(scale: float, agents: int) -> list[float]:
    """Exploration from half to double the scale: some agents careful, some bold."""
    if agents == 1:
        return [scale]
    return [scale * 2.0 ** (2 * row / (agents - 1) - 1) for row in range(agents)]


def memory_bill(
    actor_sizes: Sequence[int], critic_sizes: Sequence[int], agents: int, critics: int = 1
) -> dict[str, int]:
    """Bytes a population of this shape takes, before any of it is allocated."""
    actor, critic = parameter_count(actor_sizes), parameter_count(critic_sizes)
    networks = 4 * (actor + critics * critic)
    return {
        "parameters per actor": actor,
        "parameters per critic": critic,
        "networks and targets": 2 * networks * (agents + 1),
        "gradients": networks * (agents + 1),
        "Adam moments": 2 * networks * (agents + 1),
        "total": MATRICES * networks * (agents + 1),
    }


def check_memory(config: Config, architecture: Architecture, say: Callable[[str], None]) -> None:
    """Refuse a population that cannot fit, before any of it is allocated.

    A bill of a GB or more is shown. Raises `ConfigError` unless `config.force`.
    """
    bill = memory_bill(
        architecture.actor_sizes,
        architecture.critic_sizes,
        config.population_size,
        config.critics,
    )
    available = psutil.virtual_memory().available
    if bill["total"] >= WORTH_A_BILL:
        say(bill_text(bill, available))
    if bill["total"] > available and not config.force:
        raise ConfigError(
            f"the population needs {bill['total'] / 1e9:.1f} GB, {available / 1e9:.1f} GB are "
            "available: use smaller hidden layers or fewer agents, or --force"
        )


def bill_text(bill: dict[str, int], available: int) -> str:
    """The memory bill as a block of lines."""
    lines = ["Memory bill of the population:"]
    for name, value in bill.items():
        shown = f"{value:>14,}" if name.startswith("parameters") else f"{value / 1e9:>11.2f} GB"
        lines.append(f"   {name:<24}{shown}")
    return "\n".join([*lines, f"   {'available':<24}{available / 1e9:>11.2f} GB"])
