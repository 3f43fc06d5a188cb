"""ERL: evolution finds, gradients refine (Khadka & Tumer 2018, algorithm 1)."""

from __future__ import annotations

from typing import Any

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
from reference_trainer.population import LEARNER, Population
from reference_trainer.replay_buffer import ReplayBuffer


class ERL:
    """Actors that evolve, and a DDPG learner that is fed by all and let in now and then.

    The lines of algorithm 1, and where they are:

    1-3   random learner, population and empty buffer    `Population`, `ReplayBuffer`
    5-7   each actor plays, its steps fill the buffer    `ERLTrainer.evaluate_population`
    8-9   rank, keep the elites                          `evolve`
    10-11 tournament, crossover                          `evolve`
    12-16 mutation                                       `evolve`
    17    the learner plays, with noise                  `ERLTrainer.evaluate_population`
    18-21 gradient steps of critic and learner           `ERLTrainer.train_population`
    22-25 the learner takes the place of the weakest     `tell`

    The members are all it knows: selection reads their fitness, and writes over their rows.
    """

    def __init__(self, config: Config, population: Population, buffer: ReplayBuffer) -> None:
        self.config, self.population, self.buffer = config, population, buffer
        self.rules = EvolutionRules(
            elites=config.elites, mutation_probability=config.mutation_probability
        )
        #: Where the fittest learner was copied to in this generation.
        self.admitted: int | None = None

    def tell(self, generation: int) -> dict[str, Any]:
        """Let the learner in every few generations; one that fell behind begins again."""
        population = self.population
        due = generation % self.config.admit_every == 0
        self.admitted = population.admit_learner() if due else None
        # In the first generation no learner has been trained: it earns less by chance.
        return {"restarted": population.restart_learner() if generation > 1 else None}

    def ask(self, rng: np.random.Generator) -> dict[str, Any]:
        """Elites stay, winners breed, the rest is written over; nothing is allocated."""
        population, first = self.population, self.population.evolving_from
        fate = evolve(
            population.evolving,
            population.fitnesses()[first:],
            self.rules,
            rng,
            crossover=self.crossover(),
            mutate=self.mutation(),
        )
        made = [fate.operator(slot) for slot in range(population.evolving.rows)]
        population.made_by = [LEARNER] * first + made
        return {} if self.admitted is None else {"learner_became": made[self.admitted - first]}

    def arrays(self) -> dict[str, np.ndarray]:
        """Nothing: a checkpoint has the members."""
        return {}

    def restore(self, arrays: dict[str, np.ndarray], rng: np.random.Generator) -> None:
        """Go on from the members."""

    def crossover(self) -> Crossover:
        """How a child is made of two parents."""
        return row_crossover

    def mutation(self) -> Mutation:
        """How a member is changed."""
        return gaussian_mutation
