"""A pool of two Ray actors that roll out a policy; what one keeps, its own process shows."""

from __future__ import annotations

import os
import sys

import gymnasium
import numpy as np
import ray

from leakguard.integrations.ray import watched_actor
from regression_tests.benchmarks.frameworks.tools import generations, mistake, tool

CALLS = 4  # a generation


class MarketEnv(gymnasium.Wrapper):
    """An environment with a table of its own."""

    def __init__(self):
        super().__init__(gymnasium.make("CartPole-v1"))
        self.prices = np.ones((500, 250))


class Worker:
    """Rolls out episodes; the mistake is made by every worker."""

    def __init__(self, mistake):
        self.mistake = mistake
        self.env = MarketEnv()
        self.environments, self.trajectories, self.weights = [], [], {}
        self.version = 0

    def rollout(self, weights):
        self.version += 1
        if self.mistake == "weights-cached":
            self.weights[self.version] = weights.copy()  # MADE HERE
        env = self.env
        if self.mistake == "env-per-episode":
            env = MarketEnv()  # MADE HERE
            self.environments.append(env)
        steps = self._episode(env)
        if self.mistake == "trajectories-kept":
            self.trajectories.append(np.concatenate(steps))  # MADE HERE
        return len(steps)

    def _episode(self, env):
        observation, _ = env.reset()
        steps = []
        for _ in range(20):
            steps.append(np.tile(observation, 1_000))
            observation, _, done, _, _ = env.step(env.action_space.sample())
            if done:
                observation, _ = env.reset()
        return steps


class Traced(Worker):
    """The same under a tracer."""

    def __init__(self, mistake):
        super().__init__(mistake)
        self.tool, self.calls = tool(), 0
        self.tool.__enter__()

    def rollout(self, weights):
        if self.calls % CALLS == 0:
            self.tool.generation()
        self.calls += 1
        return super().rollout(weights)

    def finish(self):
        self.tool.__exit__()


def main() -> None:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    traced = os.environ.get("TOOL", "leakguard") != "leakguard"
    folder = os.environ["OUT"]
    kind = Traced if traced else watched_actor(folder, every=CALLS, report=None)(Worker)
    pool = [ray.remote(kind).remote(mistake()) for _ in range(1 if traced else 2)]
    for _ in range(generations() * CALLS):
        weights = ray.put(np.ones(50_000))
        ray.get([actor.rollout.remote(weights) for actor in pool])
    if traced:
        ray.get([actor.finish.remote() for actor in pool])
    ray.wait([actor.__ray_terminate__.remote() for actor in pool], num_returns=len(pool))


if __name__ == "__main__":
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    main()
