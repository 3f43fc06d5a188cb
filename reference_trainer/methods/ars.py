"""Augmented random search (Mania, Guy & Recht 2018)."""

from __future__ import annotations

from typing import Any

import numpy as np

from reference_trainer.config import Config
from reference_trainer.evaluation import Purpose, stream
from reference_trainer.methods.normalized_genomes import NormalizedGenomes
from reference_trainer.population import LEARNER, Population
from reference_trainer.replay_buffer import ReplayBuffer

#: What `made_by` says of a member.
PERTURBED = "perturbation"


class ARS:
    """Algorithm 2 (V2-t): finite differences along random directions, of which the best decide.

    Two members a direction play M + nu delta and M - nu delta; observations are normalised, unless
    the configuration says otherwise (V1-t). The paper has no learner. Where there is one, it learns
    from what the members play, begins again as the fittest of them when it earns less, and may
    become the best agent. It is not let in: a search that goes on from where gradients end stays
    there.
    """

    def __init__(self, config: Config, population: Population, buffer: ReplayBuffer) -> None:
        self.config, self.population = config, population
        self.genomes = NormalizedGenomes(population, buffer, config.normalize_observations)
        self.directions = np.zeros((population.evolving.rows // 2, self.genomes.size))
        #: M of the paper.
        self.centre = self.genomes.first()
        self.ask(stream(config.seed, Purpose.EVOLUTION, 0))

    def ask(self, rng: np.random.Generator) -> dict[str, Any]:
        """Two members for each new direction delta (line 5 of the algorithm)."""
        rng.standard_normal(out=self.directions)
        first, rows = self.population.evolving_from, self.population.evolving.rows
        for k, direction in enumerate(self.directions):
            step = self.config.perturbation * direction
            self.genomes.write(first + 2 * k, self.centre + step)
            self.genomes.write(first + 2 * k + 1, self.centre - step)
        self.population.made_by = [LEARNER] * first + [PERTURBED] * rows
        return {}

    def tell(self, generation: int) -> dict[str, Any]:
        """M <- M + alpha / (b sigma_R) sum over the b best of (r+ - r-) delta (lines 6 and 7)."""
        first = self.population.evolving_from
        earned = np.array(self.population.fitnesses()[first:]).reshape(-1, 2)
        kept = max(1, round(self.config.top_fraction * len(earned)))
        best = np.argsort(-earned.max(axis=1), kind="stable")[:kept]
        spread = earned[best].std()
        # Where all have earned the same, no direction is better than another.
        if spread > 0:
            gain = earned[best, 0] - earned[best, 1]
            self.centre += self.config.step_size / (kept * spread) * gain @ self.directions[best]
        self.genomes.observe()
        if not first or generation == 1:
            return {}
        return {"restarted": self.population.restart_learner()}

    def arrays(self) -> dict[str, np.ndarray]:
        """The centre, and what observations were like."""
        return {"centre": self.centre, **self.genomes.arrays()}

    def restore(self, arrays: dict[str, np.ndarray], rng: np.random.Generator) -> None:
        """Go on from a checkpoint: the directions follow from the same numbers."""
        self.centre[:] = arrays["centre"]
        self.genomes.restore(arrays)
        self.ask(rng)
