"""Genomes of actors that read normalised observations, written as those of plain actors."""

from __future__ import annotations

import numpy as np
import torch

from reference_trainer.evolution import settle_target
from reference_trainer.networks import layer_views
from reference_trainer.population import Population
from reference_trainer.replay_buffer import ReplayBuffer

#: An input that varies less than this says nothing, and is not listened to.
LEAST_DEVIATION = 1e-8


class NormalizedGenomes:
    """Writes genomes over members, and keeps the mean and deviation of all that was observed.

    An actor W (s - mean) / deviation + b is the plain actor W' s + b' with W' = W / deviation and
    b' = b - W' mean, so members play, and are kept, like any others. A genome has all parameters; a
    linear one has no b, as in Mania et al. 2018.
    """

    def __init__(
        self, population: Population, buffer: ReplayBuffer, normalize: bool = True
    ) -> None:
        self.actor, self.buffer, self.normalize = population.stack.actor, buffer, normalize
        inputs, *hidden, actions = self.actor.sizes
        self.is_linear = not hidden
        parameters = int(self.actor.values.shape[1])
        self.size = inputs * actions if self.is_linear else parameters
        self.count, self.seen = np.zeros(1), np.zeros(1, np.int64)
        self.mean, self.squares = np.zeros(inputs), np.zeros(inputs)
        self._genome = torch.zeros((1, parameters))
        self._layer = layer_views(self._genome, self.actor.sizes)[0]

    def first(self) -> np.ndarray:
        """Where a search begins: all zero; random with hidden layers, which would learn nothing."""
        return np.zeros(self.size) if self.is_linear else self.actor.values[0].double().numpy()

    def write(self, member: int, genome: np.ndarray) -> None:
        """A member gets a genome `[n]`, and itself as its target."""
        self._genome.zero_()
        self._genome[0, : self.size] = torch.from_numpy(genome)
        weight, bias = self._layer
        weight /= torch.from_numpy(self.deviation())
        bias -= (weight @ torch.from_numpy(self.mean).to(weight)).view_as(bias)
        self.actor.values[member] = self._genome[0]
        settle_target(self.actor, member)

    def observe(self) -> None:
        """Take in what came to the buffer since the last time (Chan, Golub & LeVeque 1979)."""
        if not self.normalize:
            return
        fresh = self.buffer.transitions_written - int(self.seen[0])
        for states in self.buffer.newest_observations(fresh):
            count, total = len(states), self.count[0] + len(states)
            mean = states.mean(axis=0, dtype=np.float64)
            apart = mean - self.mean
            self.squares += np.square(states - mean).sum(axis=0)
            self.squares += np.square(apart) * (self.count[0] * count / total)
            self.mean += apart * (count / total)
            self.count[0] = total
        self.seen[0] = self.buffer.transitions_written

    def deviation(self) -> np.ndarray:
        """Standard deviation `[O]` of each input: 1 before the first, infinite where it is 0."""
        if not self.count[0]:
            return np.ones_like(self.squares)
        deviation = np.sqrt(self.squares / self.count[0])
        deviation[deviation < LEAST_DEVIATION] = np.inf
        return deviation

    def arrays(self) -> dict[str, np.ndarray]:
        """The statistics, for a checkpoint."""
        return {
            "observations": self.count,
            "observation_mean": self.mean,
            "observation_squares": self.squares,
            "transitions_seen": self.seen,
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take over the statistics of a checkpoint."""
        for name, array in self.arrays().items():
            array[:] = arrays[name]
