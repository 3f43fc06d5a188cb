"""A pendulum whose reward is sparse: Gymnasium has none."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.classic_control.pendulum import PendulumEnv, angle_normalize

#: Radians from upright within which a step earns 1, and what the start may differ from hanging.
UPRIGHT, SHAKEN = 0.25, 0.1
SPARSE_PENDULUM = "SparsePendulum-v0"


class SparsePendulum(PendulumEnv):  # type: ignore[misc]
    """A pendulum that hangs at the start and earns 1 a step while it stands, else nothing.

    As the swing-up of the DeepMind control suite (Tassa et al. 2018), which has a narrower angle
    and any start: from here no step earns anything before the swing has been found.
    """

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        shake = self.np_random.uniform(-SHAKEN, SHAKEN, size=2)
        self.state = np.array([np.pi, 0.0]) + shake
        return self._get_obs(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        observation, _, terminated, truncated, info = super().step(action)
        stands = abs(angle_normalize(self.state[0])) < UPRIGHT
        return observation, float(stands), terminated, truncated, info


gymnasium.register(SPARSE_PENDULUM, SparsePendulum, max_episode_steps=200)
