"""What a population method is: it asks members to play, and is told what they earned."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from reference_trainer.config import Config
from reference_trainer.population import Population
from reference_trainer.replay_buffer import ReplayBuffer


class Method(Protocol):
    """Ask and tell (Collette et al. 2010), in place: genomes are rows that are written over.

    A generation plays, `tell` learns from the fitness of its members, and `ask` writes those that
    play next; a generation that the step limit cut is neither told nor asked. Both return what the
    record of the generation says of them.
    """

    def __init__(self, config: Config, population: Population, buffer: ReplayBuffer) -> None:
        """Write the members of the first generation, unless the random ones will do."""

    def tell(self, generation: int) -> dict[str, Any]:
        """Learn from the fitness of each member; the buffer holds what they saw."""
        ...

    def ask(self, rng: np.random.Generator) -> dict[str, Any]:
        """Write over the members that evolve those that play next."""
        ...

    def arrays(self) -> dict[str, np.ndarray]:
        """What the method knows beside the members, for a checkpoint."""
        ...

    def restore(self, arrays: dict[str, np.ndarray], rng: np.random.Generator) -> None:
        """Take over such arrays, and what the last `ask` left, which had the same numbers."""
        ...
