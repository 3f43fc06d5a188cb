"""An environment tells of its episodes, whoever steps it."""

from __future__ import annotations

import pytest

pytest.importorskip("gymnasium", reason="gymnasium is not installed")

import gymnasium

from leakguard import LeakGuard
from leakguard.integrations.gymnasium import WatchedEnv, WatchedVectorEnv


def test_so_many_episodes_are_a_generation():
    guard = LeakGuard(report=None)
    env = WatchedEnv(gymnasium.make("CartPole-v1"), guard, every=5)
    for episode in range(20):
        env.reset(seed=episode)
        env.step(env.action_space.sample())
    env.close()
    assert guard.run.generations == (1, 2, 3, 4)
    assert guard.run.phases == ("reset",)
    assert guard.run.finished


def test_so_many_steps_of_a_vector_are_a_generation():
    guard = LeakGuard(report=None)
    envs = WatchedVectorEnv(gymnasium.make_vec("CartPole-v1", 2), guard, every=10)
    envs.reset(seed=0)
    for _ in range(40):
        envs.step(envs.action_space.sample())
    envs.close()
    assert guard.run.generations == (1, 2, 3, 4)
    assert guard.run.finished


@pytest.mark.heavy
def test_environment_that_keeps_its_history_is_named_with_its_list():
    class Historian(gymnasium.Wrapper):
        def __init__(self, env):
            super().__init__(env)
            self.history = []

        def step(self, action):
            result = self.env.step(action)
            self.history.append((result, bytearray(20_000)))
            return result

    guard = LeakGuard(report=None, max_overhead=None)
    env = WatchedEnv(Historian(gymnasium.make("CartPole-v1")), guard, every=5)
    for episode in range(40):
        env.reset(seed=episode)
        for _ in range(5):
            env.step(0)
    env.close()
    report = guard.report()
    assert report.verdict == "leak"
    assert report.findings[0].held_by.endswith(".env.history[*]")
