"""The tasks, the methods, and what one run of a method on a task is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np

from reference_trainer.config import GYM, METHOD_SETTINGS
from reference_trainer.rollout import Policy, play_episode
from regression_tests.benchmarks.trainer.evolution_wins.sparse_pendulum import SPARSE_PENDULUM

#: Fresh episodes without noise: a point of a learning curve, and the end of a run.
CURVE_EPISODES, FINAL_EPISODES = 5, 20
#: Start states that no run meets while it learns.
FIRST_JUDGED_SEED = 1_000_000
#: Points of a learning curve.
POINTS = 10

#: The discount that rl-baselines3-zoo publishes for Swimmer, where 0.99 is said to hide the stroke.
FAR_SIGHTED = 0.9999

#: One learner, and nobody else.
ALONE: dict[str, Any] = {"evolution": False, "learners": None, "population_size": 1}
#: A learner and a population as in ERL, but linear actors, and two members a generation: both ways
#: along one random direction (ARS, V1). The learner makes an update each twenty steps.
ALONG_DIRECTIONS: dict[str, Any] = {
    "method": "ars", "actor_hidden": (), "population_size": 3, "perturbation": 0.01,
    "step_size": 0.02, "normalize_observations": False, "updates_per_step": 0.05, "title_every": 5,
}  # fmt: skip
#: A learner with two critics (TD3), which sees more of a batch, and all that was played lately.
TWO_CRITICS: dict[str, Any] = {
    "critics": 2, "tau": 0.005, "batch_size": 128, "buffer_capacity": 300_000,
}  # fmt: skip
#: The same beside two that evolve, so that a third of all steps is its own. It never begins again
#: as one of them: who falls while it learns to walk earns less than who stands still.
FEW: dict[str, Any] = {
    **TWO_CRITICS, "population_size": 3, "title_every": 10, "restart_behind": False,
}  # fmt: skip
#: The most steps that a method gets in a task, where it needs no more.
MOST_STEPS = {
    ("Swimmer-v5", "evolution along directions"): 500_000,
    ("Swimmer-v5", "ARS"): 500_000,
    ("Swimmer-v5", "CMA-ES"): 500_000,
}
#: What the trainer changes for a method; nothing for its defaults, which are ERL's operators. The
#: learner makes one gradient update for each environment step of anybody, as in ERL. Without
#: evolution each of the ten agents makes as many, or all together (`updates_per_step` is of each).
OURS: dict[str, dict[str, Any]] = {
    "evolution": {},
    "no evolution": {"evolution": False},
    "no evolution, same updates": {
        "evolution": False, "updates_per_step": GYM["updates_per_step"] / GYM["population_size"],
    },
    "genetic only": {"learners": 0},
    "gradient only": ALONE,
    "evolution, two critics": FEW,
    "gradient only, two critics": {**ALONE, **TWO_CRITICS},
    "PDERL operators": {"method": "pderl"},
    "evolution along directions": ALONG_DIRECTIONS,
    "ARS": {"method": "ars", **METHOD_SETTINGS["ars"]},
    "CMA-ES": {"method": "cma", **METHOD_SETTINGS["cma"]},
    "evolution, no penalty": {"saturation_penalty": 0.0},
    "gradient only, no penalty": {**ALONE, "saturation_penalty": 0.0},
    "gradient only, far-sighted": {**ALONE, "gamma": FAR_SIGHTED},
}  # fmt: skip
#: Algorithms of stable-baselines3, and whether with the settings published for the task.
THEIRS = {
    f"SB3 {name}, {'published' if published else 'default'}": (name, published)
    for published in (False, True)
    for name in ("DDPG", "TD3", "SAC")
}
METHODS = (*OURS, *THEIRS)

NORMAL = {"noise": ("normal", 0.1)}
#: rl-baselines3-zoo, hyperparams/ddpg.yml, td3.yml and sac.yml, as far as a task is in there.
#: `noise` is the kind and standard deviation of the noise on actions; the rest are arguments.
MOUNTAIN_CAR = {
    "DDPG": {"noise": ("ornstein-uhlenbeck", 0.5)},
    "TD3": {"noise": ("ornstein-uhlenbeck", 0.5)},
    "SAC": {
        "learning_rate": 3e-4, "buffer_size": 50_000, "batch_size": 512, "ent_coef": 0.1,
        "train_freq": 32, "gradient_steps": 32, "gamma": 0.9999, "tau": 0.01,
        "learning_starts": 0, "use_sde": True,
        "policy_kwargs": {"log_std_init": -3.67, "net_arch": [64, 64]},
    },
}  # fmt: skip
PENDULUM = {
    "DDPG": {
        **NORMAL, "gamma": 0.98, "buffer_size": 200_000, "learning_starts": 10_000,
        "gradient_steps": -1, "train_freq": (1, "episode"), "learning_rate": 1e-3,
    },
    "TD3": {**NORMAL, "learning_starts": 1000},
    "SAC": {"learning_rate": 1e-3},
}  # fmt: skip
#: The discount is that of the zoo's entries for Swimmer; it has none for DDPG.
SWIMMER = {
    "TD3": {**NORMAL, "learning_starts": 10_000, "gamma": FAR_SIGHTED},
    "SAC": {"learning_starts": 10_000, "gamma": FAR_SIGHTED},
}
#: TD3's are the defaults of the package but for the noise and the random steps at the start.
HOPPER = {"TD3": {**NORMAL, "learning_starts": 10_000}}


@dataclass(frozen=True)
class Task:
    """A Gymnasium task, the environment steps a run gets, and the return that counts as solved.

    `published` has the settings of stable-baselines3's algorithms that somebody published for it.
    `steps_of_theirs` are those that it gets where all of them would take a core for hours.
    """

    env_id: str
    steps: int
    solved: float
    published: Mapping[str, Mapping[str, Any]]
    why: str
    steps_of_theirs: int | None = None

    def has(self, method: str) -> bool:
        """Whether the method can be played: a published one only with settings for this task."""
        name, published = THEIRS.get(method, (method, False))
        return not published or name in self.published


TASKS = {
    task.env_id: task
    for task in (
        Task("MountainCarContinuous-v0", 30_000, 90.0, MOUNTAIN_CAR,
             "deceptive: every action costs, and only the flag pays"),
        Task("Pendulum-v1", 20_000, -200.0, PENDULUM,
             "a dense reward: here evolution should not help"),
        Task("InvertedDoublePendulum-v5", 20_000, 9_000.0, {},
             "unstable: an episode ends when the poles fall, and few random policies last long"),
        Task(SPARSE_PENDULUM, 50_000, 100.0, {},
             "sparse: nothing is earned before a swing-up from hanging has been found"),
        Task("Swimmer-v5", 1_000_000, 325.0, SWIMMER,
             "local optima: the learner alone stays at a small stroke", 50_000),
        Task("Hopper-v5", 1_000_000, 2_500.0, HOPPER,
             "a walk: standing still pays 1 a step, and a fall ends the episode", 50_000),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Run:
    """One method on one task with one seed.

    `curve` holds environment steps and mean returns of `CURVE_EPISODES`, `score` the mean of
    `FINAL_EPISODES` at the end; judged episodes are neither counted nor timed. `memory` is None
    for stable-baselines3.
    """

    task: str
    method: str
    seed: int
    steps: int
    score: float
    curve: list[tuple[int, float]]
    agent_updates: int
    wall_s: float
    cpu_s: float
    memory: Memory | None = None


@dataclass(frozen=True)
class Memory:
    """Bytes that evolution and a checkpoint took at their peaks, and live objects by class."""

    evolution: int
    checkpoint: int
    counts: dict[str, list[int]] = field(default_factory=dict)


def judged(policy: Policy, env: gymnasium.Env[Any, Any], episodes: int) -> float:
    """Mean return of whole episodes on fresh start states."""
    rewards = [
        play_episode(env, policy, seed=FIRST_JUDGED_SEED + number).reward
        for number in range(episodes)
    ]
    return float(np.mean(rewards))


class Curve:
    """Points of a learning curve, one whenever a further share of the steps has been taken."""

    def __init__(self, steps: int, judge: Callable[[], float]) -> None:
        self.interval, self.judge = steps / POINTS, judge
        self.points: list[tuple[int, float]] = []
        self._due = self.interval

    def reached(self, steps: int) -> bool:
        """Judge if a point is due after so many steps; whether one was."""
        is_due = steps >= self._due
        if is_due:
            self.points.append((steps, self.judge()))
            self._due = (steps // self.interval + 1) * self.interval
        return is_due
