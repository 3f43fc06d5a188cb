"""Stable-Baselines3: PPO that keeps what it should not, by step, evaluation or rollout."""

from __future__ import annotations

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback, EvalCallback
from stable_baselines3.common.monitor import Monitor

from regression_tests.benchmarks.levels.plan import (
    EPOCHS,
    EVALUATIONS,
    LEVEL,
    STEPS,
    callbacks,
    leaks,
    wait,
)


class Slow(gymnasium.Wrapper):
    """An environment that takes its time."""

    def step(self, action):
        wait()
        return self.env.step(action)


class StoreInfos(BaseCallback):
    """Stores what each step told, for a plot that is never drawn."""

    def __init__(self):
        super().__init__()
        self.infos = []

    def _on_step(self):
        if leaks("step"):
            self.infos.append(np.repeat(self.locals["new_obs"], 1_250))  # MADE HERE step
        return True


class StoreRollouts(BaseCallback):
    """Stores what each rollout saw, "to debug later"."""

    def __init__(self):
        super().__init__()
        self.rollouts = []

    def _on_step(self):
        return True

    def _on_rollout_end(self):
        if leaks("epoch"):
            seen = self.model.rollout_buffer.observations
            self.rollouts.append(np.repeat(seen, 640))  # MADE HERE epoch


class Film(EvalCallback):
    """Stores what each evaluation saw, for a film."""

    def __init__(self, env, **options):
        super().__init__(env, **options)
        self.frames = []

    def _log_success_callback(self, locals_, globals_):
        super()._log_success_callback(locals_, globals_)
        self.frames.append(np.repeat(locals_["observations"], 10_000))  # MADE HERE evaluation

    def _on_step(self):
        goes_on = super()._on_step()
        if not leaks("evaluation"):
            self.frames.clear()
        return goes_on


def main() -> None:
    torch.set_num_threads(1)
    steps = STEPS // EPOCHS
    env = Slow(gymnasium.make("CartPole-v1"))
    model = PPO("MlpPolicy", env, n_steps=steps, batch_size=50, n_epochs=1, seed=0, device="cpu")
    more = [StoreInfos(), StoreRollouts()]
    if LEVEL == "evaluation":
        watched = Monitor(gymnasium.wrappers.TimeLimit(Slow(gymnasium.make("CartPole-v1")), 50))
        more += [Film(watched, eval_freq=steps // EVALUATIONS, n_eval_episodes=2, verbose=0)]
    model.learn(STEPS, callback=[*callbacks("stable_baselines3"), *more])


if __name__ == "__main__":
    main()
