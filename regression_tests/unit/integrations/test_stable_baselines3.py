"""Stable-Baselines3 runs the loop; its rollouts are generations."""

from __future__ import annotations

import gc
import math

import pytest

pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")

from stable_baselines3 import DQN, PPO
from stable_baselines3.common import callbacks
from stable_baselines3.common.callbacks import BaseCallback, EvalCallback

from leakguard import LeakGuard
from leakguard.integrations import division
from leakguard.integrations.stable_baselines3 import LeakGuardCallback

CARTPOLE = {"policy": "MlpPolicy", "env": "CartPole-v1", "device": "cpu", "seed": 0}


def ppo() -> PPO:
    return PPO(**CARTPOLE, n_steps=64, batch_size=64, n_epochs=1)


class Infos(BaseCallback):
    """What many write: a callback that keeps what every step told."""

    def __init__(self):
        super().__init__()
        self.kept = []

    def _on_step(self):
        self.kept.append((self.locals["infos"], bytearray(20_000)))
        return True


def test_rollout_is_a_generation_with_its_phases(monkeypatch):
    monkeypatch.setattr(division, "LONG_SECONDS", math.inf)
    guard = LeakGuard(report=None)
    evaluation = EvalCallback(ppo().get_env(), n_eval_episodes=1, eval_freq=100, verbose=0)
    original = callbacks.evaluate_policy
    ppo().learn(256, callback=[LeakGuardCallback(guard), evaluation])
    assert guard.run.generations == (1, 2, 3, 4)
    assert set(guard.run.phases) == {"rollout", "train", "rollout/evaluate"}
    assert guard.run.finished
    assert callbacks.evaluate_policy is original


def test_callback_keeps_neither_the_model_nor_what_the_loop_holds():
    callback, model = LeakGuardCallback(LeakGuard(report=None)), ppo()
    model.learn(64, callback=callback)
    kept = {id(value) for value in gc.get_referents(vars(callback), callback.locals)}
    assert id(model) not in kept
    assert callback.locals == {}


def test_rollout_that_lasts_long_is_divided_and_evaluations_are_counted(monkeypatch):
    monkeypatch.setattr(division, "LONG_SECONDS", 0.0)
    monkeypatch.setattr(division, "PART_SECONDS", 0.0)
    guard = LeakGuard(report=None)
    evaluation = EvalCallback(ppo().get_env(), n_eval_episodes=1, eval_freq=50, verbose=0)
    ppo().learn(128, callback=[LeakGuardCallback(guard), evaluation])
    ends = guard.run.generation_ends()
    assert len(ends) > 8
    assert ends[-1].outer == {"rollout": 2, "evaluation": 2}
    assert set(guard.run.phases) == {"rollout", "train", "rollout/evaluate"}


@pytest.mark.heavy
def test_off_policy_steps_make_generations():
    guard = LeakGuard(report=None)
    model = DQN(**CARTPOLE, learning_starts=50, buffer_size=1_000)
    model.learn(300, callback=LeakGuardCallback(guard, every=100))
    assert guard.run.generations == (1, 2, 3)
    assert set(guard.run.phases) == {"rollout", "train"}


@pytest.mark.heavy
def test_learning_twice_in_one_run_goes_on_counting():
    with LeakGuard(report=None) as guard:
        for _ in range(2):
            ppo().learn(128, callback=LeakGuardCallback(guard))
    assert guard.run.generations == (1, 2, 3, 4)


@pytest.mark.heavy
def test_callback_that_stores_infos_is_named_with_its_list_and_phase():
    guard = LeakGuard(report=None, max_overhead=None)
    ppo().learn(64 * 8, callback=[LeakGuardCallback(guard), Infos()])
    report = guard.report()
    assert report.verdict == "leak"
    assert any("Infos.kept" in (finding.held_by or "") for finding in report.findings)
    assert {finding.phase for finding in report.findings} == {"rollout"}
