"""The evolutionary step of a run: which operators, on whom, and what became of each slot."""

from __future__ import annotations

import numpy as np

from reference_trainer.config import Config
from reference_trainer.evolution import (
    Crossover,
    EvolutionRules,
    Mutation,
    evolve,
    gaussian_mutation,
    row_crossover,
)
from reference_trainer.operators import (
    distillation_crossover,
    novelty,
    proximal_mutation,
    sync_learner,
)
from reference_trainer.population import Population
from reference_trainer.replay_buffer import ReplayBuffer

NOVELTY_STATES = 64
#: The agent that stays out of evolution when the learner is synchronized.
LEARNER = 0
KEPT = "kept"


class Breeder:
    """Applies the configured operators to a population, in place."""

    def __init__(self, config: Config, population: Population, buffer: ReplayBuffer) -> None:
        self.config, self.population, self.buffer = config, population, buffer
        self.made_by = [KEPT] * config.population_size

    def breed(self, generation: int, rng: np.random.Generator) -> None:
        """One evolutionary step, when it is due; `made_by` says what made each agent."""
        config = self.config
        self.made_by = [KEPT] * config.population_size
        if not config.evolution or generation % config.evolve_every:
            return
        fate = evolve(
            self.population.trained,
            self.population.fitnesses(),
            evolution_rules(config),
            rng,
            crossover=self._crossover(),
            mutate=self._mutation(),
            selection=self._selection(rng),
            protected=(LEARNER,) if config.rl_sync_every else (),
        )
        self.made_by = [fate.operator(slot) for slot in range(config.population_size)]
        if config.rl_sync_every and generation % config.rl_sync_every == 0:
            slot = sync_learner(self.population.trained, LEARNER, self.population.fitnesses())
            self.made_by[slot] = "learner"

    def statistics(self) -> dict[str, dict[str, float]]:
        """Agents and mean fitness by what made them, all on the same episodes."""
        fitness: dict[str, list[float]] = {}
        for name, value in zip(self.made_by, self.population.fitnesses(), strict=True):
            fitness.setdefault(name, []).append(value)
        return {
            name: {"agents": len(values), "fitness": float(np.mean(values))}
            for name, values in sorted(fitness.items())
        }

    def _crossover(self) -> Crossover:
        if self.config.crossover == "distillation":
            return distillation_crossover(self.buffer)
        return row_crossover

    def _mutation(self) -> Mutation:
        if self.config.mutation == "proximal":
            return proximal_mutation(self.buffer, self.config.proximal_magnitude)
        return gaussian_mutation

    def _selection(self, rng: np.random.Generator) -> list[float] | None:
        """Fitness and novelty, each in standard deviations; None without novelty."""
        weight = self.config.novelty_weight
        if not weight:
            return None
        states = self.buffer.sample(1, NOVELTY_STATES, rng).observation
        fit = _standard(np.array(self.population.fitnesses()))
        new = _standard(novelty(self.population.trained, states))
        mixed: list[float] = ((1 - weight) * fit + weight * new).tolist()
        return mixed


def evolution_rules(config: Config) -> EvolutionRules:
    """The probabilities and strengths from the configuration."""
    return EvolutionRules(
        elites=config.elites,
        tournament_size=config.tournament_size,
        crossover_probability=config.crossover_probability,
        mutation_probability=config.mutation_probability,
        mutation_fraction=config.mutation_fraction,
        mutation_strength=config.mutation_strength,
        super_mutation_strength=config.super_mutation_strength,
        super_mutation_probability=config.super_mutation_probability,
        reset_mutation_probability=config.reset_mutation_probability,
    )


def _standard(values: np.ndarray) -> np.ndarray:
    return (values - values.mean()) / (values.std() + 1e-9)
