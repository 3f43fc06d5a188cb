"""The population: sixteen agents and the best one so far, as views of one stack."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import psutil
import torch

from reference_trainer.config import Config
from reference_trainer.ddpg import AgentStack, DDPGAgent, LearningRules
from reference_trainer.errors import ConfigError
from reference_trainer.networks import Architecture, parameter_count

#: Matrices per network that a run keeps: values, target, gradients and two Adam moments.
MATRICES = 5


class Population:
    """Agents 0..P-1 and, in row P, the best agent so far: always the same P + 1 objects."""

    def __init__(self, config: Config, architecture: Architecture) -> None:
        self.size = config.population_size
        generator = torch.Generator().manual_seed(config.seed)
        self.stack = AgentStack.create(
            architecture,
            learning_rules(config),
            self.size + 1,
            actor_lr=config.actor_lr,
            critic_lr=config.critic_lr,
            generator=generator,
        )
        self.trained = self.stack.view(0, self.size)
        scales = noise_scales(config.noise_scale, self.size)
        members = [
            DDPGAgent(
                self.stack.view(row, row + 1),
                noise=config.noise,
                noise_scale=scale,
                loss_history=config.loss_history,
            )
            for row, scale in enumerate([*scales, 0.0])
        ]
        self.agents, self.best = members[:-1], members[-1]
        self.keep_as_best(0)
        self.best.fitness = None

    @property
    def gradient_bytes(self) -> int:
        """What the gradients of all networks take."""
        return sum(network.grad.nbytes for network in self.stack.networks)

    @property
    def best_row(self) -> int:
        """The row of the best agent so far."""
        return self.size

    def keep_as_best(self, member: int) -> None:
        """Copy a member over the best agent, in place."""
        self.stack.copy_row(self.best_row, member)
        self.best.fitness = self.agents[member].fitness

    def fitnesses(self) -> list[float]:
        """The fitness of each member; raises `RuntimeError` before the first evaluation."""
        values = [agent.fitness for agent in self.agents]
        if None in values:
            raise RuntimeError("the population has not been evaluated yet")
        return [value for value in values if value is not None]


def learning_rules(config: Config) -> LearningRules:
    """The constants of the update from the configuration."""
    return LearningRules(
        gamma=config.gamma,
        tau=config.tau,
        twin=config.algorithm == "td3",
        policy_delay=config.policy_delay,
        target_noise=config.target_noise,
        target_noise_clip=config.target_noise_clip,
    )


def noise_scales(scale: float, agents: int) -> list[float]:
    """Exploration from half to double the scale: some agents careful, some bold."""
    if agents == 1:
        return [scale]
    return [scale * 2.0 ** (2 * row / (agents - 1) - 1) for row in range(agents)]


def memory_bill(
    actor_sizes: Sequence[int], critic_sizes: Sequence[int], agents: int, *, twin: bool
) -> dict[str, int]:
    """Bytes a population of this shape takes, before any of it is allocated."""
    actor = parameter_count(actor_sizes)
    critics = parameter_count(critic_sizes) * (2 if twin else 1)
    networks = 4 * (actor + critics)
    return {
        "parameters per actor": actor,
        "parameters per critic": parameter_count(critic_sizes),
        "networks and targets": 2 * networks * (agents + 1),
        "gradients": networks * (agents + 1),
        "Adam moments": 2 * networks * (agents + 1),
        "total": MATRICES * networks * (agents + 1),
    }


def check_memory(config: Config, architecture: Architecture, say: Callable[[str], None]) -> None:
    """Refuse a population that cannot fit, before any of it is allocated.

    Raises `ConfigError` unless `config.force`.
    """
    bill = memory_bill(
        architecture.actor_sizes,
        architecture.critic_sizes,
        config.population_size,
        twin=config.algorithm == "td3",
    )
    available = psutil.virtual_memory().available
    if config.print_bill:
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
