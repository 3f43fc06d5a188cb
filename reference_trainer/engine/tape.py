"""An episode that was played elsewhere, on its way to the buffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from reference_trainer.replay_buffer import EpisodeRecorder, Step
from reference_trainer.rollout import EpisodeStats

NOTHING = np.empty(0, dtype=np.float32)


class Tape:
    """Listens to an episode like a buffer, and tells a buffer later."""

    def __init__(self, keep_observations: bool) -> None:
        self.keep_observations = keep_observations
        self.first: tuple[np.ndarray, Mapping[str, Any], int] = (NOTHING, {}, 0)
        self.steps: list[Step] = []
        self.stats = EpisodeStats(0.0, 0, None)

    def begin(self, observation: np.ndarray, info: Mapping[str, Any], agent: int) -> None:
        """Record the first state."""
        self.first = (self._kept(observation), dict(info), agent)

    def add(self, step: Step) -> None:
        """Record a step."""
        kept = step._replace(observation=self._kept(step.observation), info=dict(step.info))
        self.steps.append(kept)

    def end(self) -> None:
        """The episode is over; nothing more comes."""

    def play_into(self, buffer: EpisodeRecorder, limit: int) -> EpisodeStats:
        """Tell `buffer` the episode, at most `limit` steps of it, as if it were played now."""
        told = self.steps[:limit]
        buffer.begin(*self.first)
        for step in told:
            buffer.add(step)
        buffer.end()
        if len(told) == len(self.steps):
            return self.stats
        reward = sum((step.reward for step in told), 0.0)
        return replace(self.stats, reward=reward, steps=len(told), cut=True)

    def _kept(self, observation: np.ndarray) -> np.ndarray:
        return observation if self.keep_observations else NOTHING
