"""Stable-Baselines3: PPO, TD3 or DQN, and callbacks as users write them."""

from __future__ import annotations

import os

import gymnasium
import numpy as np
import torch
from stable_baselines3 import DQN, PPO, TD3
from stable_baselines3.common.callbacks import BaseCallback

from leakguard.integrations.stable_baselines3 import LeakGuardCallback
from regression_tests.benchmarks.frameworks.tools import generations, mistake, tool

STEPS = 256


class MarketEnv(gymnasium.Wrapper):
    """An environment with a table of its own."""

    def __init__(self, env):
        super().__init__(env)
        self.prices = np.ones((500, 250))


class StoreInfos(BaseCallback):
    """Stores what each step told, for a plot that is never drawn."""

    def __init__(self):
        super().__init__()
        self.infos = []

    def _on_step(self):
        for info in self.locals["infos"]:
            self.infos.append({**info, "weights": np.ones(500)})  # MADE HERE
        return True


class StoreLocals(BaseCallback):
    """Stores the locals of every rollout, "to debug later"."""

    def __init__(self):
        super().__init__()
        self.history = []

    def _on_step(self):
        return True

    def _on_rollout_end(self):
        if self.n_calls % STEPS < 4:  # once a generation, off-policy too
            observations = np.repeat(self.locals["new_obs"], 20_000, axis=0)  # MADE HERE
            self.history.append({**self.locals, "observations": observations})  # MADE HERE


class EnvironmentPerEpisode(BaseCallback):
    """Makes a fresh environment for each evaluation and closes none."""

    def __init__(self):
        super().__init__()
        self.environments = []

    def _on_step(self):
        if self.n_calls % STEPS == 0:
            env = MarketEnv(gymnasium.make(ENVIRONMENT))  # MADE HERE
            self.environments.append(env)
            self.model.predict(env.reset()[0])
        return True


ENVIRONMENT = "Pendulum-v1" if os.environ["ALGORITHM"] == "TD3" else "CartPole-v1"
MISTAKES = {"infos": StoreInfos, "locals": StoreLocals, "env-per-episode": EnvironmentPerEpisode}


def main() -> None:
    torch.set_num_threads(1)
    common = {"policy": "MlpPolicy", "env": MarketEnv(gymnasium.make(ENVIRONMENT)), "seed": 0}
    model = {
        "PPO": lambda: PPO(**common, n_steps=STEPS, n_epochs=4, device="cpu"),
        "TD3": lambda: TD3(
            **common, buffer_size=2_000, learning_starts=100, train_freq=4, gradient_steps=1,
            policy_kwargs={"net_arch": [32, 32]}, device="cpu",
        ),
        "DQN": lambda: DQN(**common, buffer_size=2_000, learning_starts=100, device="cpu"),
    }[os.environ["ALGORITHM"]]()  # fmt: skip
    every = None if os.environ["ALGORITHM"] == "PPO" else STEPS
    made = [MISTAKES[mistake()]()] if mistake() in MISTAKES else []
    model.learn(STEPS * generations(), callback=[LeakGuardCallback(tool(), every), *made])


if __name__ == "__main__":
    main()
