"""What all agents play in one generation, and who plays it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from reference_trainer.config import Config
from reference_trainer.population import Population
from reference_trainer.rollout import EpisodeStats
from reference_trainer.streams import Purpose, stream
from reference_trainer.task import EpisodePlan


@dataclass(frozen=True)
class Round:
    """The episodes of one generation, the same for every agent."""

    generation: int
    plans: Sequence[EpisodePlan]
    random: bool


class Evaluator(Protocol):
    """Plays a round; yields the episodes of each member in order, transitions in the buffer.

    When the steps of the run are spent, the episode under way is cut and no more are played.
    """

    def play(self, population: Population, round_: Round) -> Iterator[list[EpisodeStats]]: ...

    def close(self) -> None: ...


def exploration(
    config: Config, round_: Round, member: int, number: int
) -> np.random.Generator | None:
    """The noise of one episode; None when fitness is measured without any."""
    if not (round_.random or config.explore_in_fitness):
        return None
    return stream(config.seed, Purpose.EVALUATION, round_.generation, member, number)
