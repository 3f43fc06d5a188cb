"""Covariance matrix adaptation (Hansen & Ostermeier 2001), by the package `cma`."""

from __future__ import annotations

from typing import Any

import numpy as np

from reference_trainer.config import Config
from reference_trainer.errors import ConfigError
from reference_trainer.evaluation import Purpose, stream
from reference_trainer.methods.normalized_genomes import NormalizedGenomes
from reference_trainer.population import Population
from reference_trainer.replay_buffer import ReplayBuffer

#: What `made_by` says of a member.
SAMPLED = "sample"
#: With more numbers than this only variances are adapted (Ros & Hansen 2008): a full matrix grows
#: with their square, and takes about as many generations to learn.
FULL_MATRIX = 200
#: What the package goes on from: attributes of the strategy, and of its parts.
STATE = {
    "": ("sigma", "mean", "mean_old", "pc", "pc2", "countiter", "countevals"),
    "adapt_sigma": ("ps", "_ps_updated_iteration"),
    "sigma_vec": ("scaling", "is_identity"),
    "sm": ("C", "B", "D", "last_update", "count_tell", "count_eigen"),
}


class CMAES:
    """Members are samples of a normal distribution that moves to where the fittest are."""

    def __init__(self, config: Config, population: Population, buffer: ReplayBuffer) -> None:
        self.config, self.population = config, population
        self.genomes = NormalizedGenomes(population, buffer, config.normalize_observations)
        self.first = self.genomes.first()
        self.strategy = self._strategy()
        self.ask(stream(config.seed, Purpose.EVOLUTION, 0))

    def ask(self, rng: np.random.Generator) -> dict[str, Any]:
        """Sample all members."""
        self.random = rng
        self.samples = []  # not two generations of them at once
        self.samples = self.strategy.ask()
        for member, sample in enumerate(self.samples):
            self.genomes.write(member, sample)
        self.population.made_by = [SAMPLED] * self.population.size
        return {}

    def tell(self, generation: int) -> dict[str, Any]:
        """Move and reshape the distribution by the ranks of its samples; `cma` minimises."""
        self.strategy.tell(self.samples, [-fitness for fitness in self.population.fitnesses()])
        # It would keep the samples of the last generations, for whom integers were rounded.
        self.strategy.archive.clear()
        self.genomes.observe()
        return {"sigma": float(self.strategy.sigma)}

    def arrays(self) -> dict[str, np.ndarray]:
        """The distribution and its paths, and what observations were like."""
        state = {
            f"{part or 'strategy'}.{name}": np.array(getattr(self._part(part), name), order="C")
            for part, names in STATE.items()
            for name in names
            if hasattr(self._part(part), name)
        }
        return {**state, **self.genomes.arrays()}

    def restore(self, arrays: dict[str, np.ndarray], rng: np.random.Generator) -> None:
        """Go on from a checkpoint: the samples follow from the same numbers."""
        self.strategy = self._strategy()
        self.strategy.ask(1)  # the first one starts its clock; what is asked now is not told
        self.strategy.sent_solutions.clear()
        for part, names in STATE.items():
            for name in names:
                stored = arrays.get(f"{part or 'strategy'}.{name}")
                if stored is not None:
                    setattr(self._part(part), name, stored[()] if stored.ndim == 0 else stored)
        sampler = self.strategy.sm
        if hasattr(sampler, "C"):
            # Eigenvectors lie in memory column by column, which decides the last digit of a sum.
            sampler.B = np.asfortranarray(sampler.B)
            self.strategy.C, self.strategy.B, self.strategy.D = sampler.C, sampler.B, sampler.D
        self.genomes.restore(arrays)
        self.ask(rng)

    def _strategy(self) -> Any:
        try:
            import cma
        except ImportError:
            raise ConfigError(
                "method=cma needs the package cma: pip install 'leakguard-training[cma]'"
            ) from None
        options = {
            "popsize": self.config.population_size,
            "CMA_diagonal": self.genomes.size > FULL_MATRIX,
            "AdaptSigma": cma.sigma_adaptation.CMAAdaptSigmaCSA,
            "randn": lambda *shape: self.random.standard_normal(shape),
            # The generator of NumPy that all share is left as it is, and nothing is printed.
            "seed": np.nan,
            "verbose": -9,
            "verb_log": 0,
        }
        return cma.CMAEvolutionStrategy(self.first, self.config.perturbation, options)

    def _part(self, name: str) -> Any:
        return getattr(self.strategy, name) if name else self.strategy
