"""A run of stable-baselines3, with its defaults or with settings that were published."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from reference_trainer.rollout import to_range
from regression_tests.benchmarks.trainer.evolution_wins.contest import (
    CURVE_EPISODES,
    FINAL_EPISODES,
    THEIRS,
    Curve,
    Run,
    Task,
    judged,
)
from regression_tests.benchmarks.trainer.evolution_wins.stopwatch import Stopwatch


def run(task: Task, method: str, seed: int) -> Run:
    """Learn as many steps as the task gives; judged is the policy as it is then."""
    from stable_baselines3.common.callbacks import BaseCallback

    env = gymnasium.make(task.env_id)
    model = _model(task, method, seed)
    policy = _policy(model, env)
    steps = task.steps_of_theirs or task.steps
    curve = Curve(steps, lambda: judged(policy, env, CURVE_EPISODES))
    stopwatch = Stopwatch()

    class Judge(BaseCallback):  # type: ignore[misc]
        def _on_step(self) -> bool:
            with stopwatch.stopped():
                curve.reached(self.num_timesteps)
            return True

    model.learn(steps, callback=Judge())
    wall, cpu = stopwatch.seconds()
    return Run(
        task.env_id, method, seed, int(model.num_timesteps), judged(policy, env, FINAL_EPISODES),
        curve.points, int(model._n_updates), wall, cpu,
    )  # fmt: skip


def _model(task: Task, method: str, seed: int) -> Any:
    import stable_baselines3
    from stable_baselines3.common import noise

    name, published = THEIRS[method]
    chosen = dict(task.published[name]) if published else {}
    env = gymnasium.make(task.env_id)
    if "noise" in chosen:
        kind, deviation = chosen.pop("noise")
        size = int(np.prod(env.action_space.shape or ()))
        make = {"normal": noise.NormalActionNoise,
                "ornstein-uhlenbeck": noise.OrnsteinUhlenbeckActionNoise}[kind]  # fmt: skip
        chosen["action_noise"] = make(np.zeros(size), np.full(size, deviation))
    algorithm = getattr(stable_baselines3, name)
    return algorithm("MlpPolicy", env, seed=seed, device="cpu", **chosen)


def _policy(model: Any, env: gymnasium.Env[Any, Any]) -> Any:
    """Its action without noise, in [-1, 1] as `play_episode` stretches it."""
    stretch, one = to_range(env), np.ones(env.action_space.shape or ())
    highest, lowest = stretch(one), stretch(-one)

    def policy(observation: np.ndarray) -> np.ndarray:
        action = model.predict(observation, deterministic=True)[0]
        return (2 * action - highest - lowest) / (highest - lowest)

    return policy
