"""A run of the reference trainer."""

from __future__ import annotations

import gc
import io
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import gymnasium

from reference_trainer.agent import DDPGAgent
from reference_trainer.hooks import Hooks
from reference_trainer.replay_buffer import ReplayBuffer
from reference_trainer.task import normalized
from reference_trainer.trainer import ERLTrainer
from regression_tests.benchmarks.trainer.evolution_wins.contest import (
    CURVE_EPISODES,
    FINAL_EPISODES,
    MOST_STEPS,
    OURS,
    Curve,
    Memory,
    Run,
    Task,
    judged,
)
from regression_tests.benchmarks.trainer.evolution_wins.stopwatch import Stopwatch
from regression_tests.benchmarks.trainer.learning import erl_config
from regression_tests.benchmarks.trainer.memory import reset_peak, status

#: What is measured, by the phase of the trainer.
EVOLVING, SAVING = "evolve_population", "checkpoint"


def run(task: Task, method: str, seed: int) -> Run:
    """Train with the settings of a method, and judge the best agent as it learns, or the only."""
    env = normalized(gymnasium.make(task.env_id))
    with tempfile.TemporaryDirectory(prefix="evolution_wins") as folder:
        changed = {"out": Path(folder), **OURS[method]}
        evolution = bool(changed.pop("evolution", True))
        steps = min(task.steps, MOST_STEPS.get((task.env_id, method), task.steps))
        config = erl_config(task.env_id, steps, seed, changed, evolution=evolution)
        watch = Watch(type(env.unwrapped))
        trainer = ERLTrainer(config, log=io.StringIO(), hooks=watch)
        # Validation decides nothing; it would only cost time here.
        trainer.champion.validate = lambda: None  # type: ignore[method-assign]
        best = trainer.population.best.act
        if trainer.population.size == 1:
            # Nobody to choose from: it learns from every step, and is judged as it is.
            trainer.champion.challenge = lambda plans: None  # type: ignore[method-assign]
            best = trainer.population.agents[0].act
        watch.curve = Curve(steps, lambda: judged(best, env, CURVE_EPISODES))
        trainer.train()
        wall, cpu = watch.stopwatch.seconds()
        score = judged(best, env, FINAL_EPISODES)
    steps_of_all = sum(record["updates"] for record in trainer.history)
    return Run(
        task.env_id, method, seed, trainer.env_steps, score, watch.curve.points,
        steps_of_all * config.trained_agents, wall, cpu, watch.memory(),
    )  # fmt: skip


class Watch(Hooks):
    """Judges the best agent after a generation, and measures what the phases take."""

    curve: Curve

    def __init__(self, env_class: type) -> None:
        self.kinds = (env_class, DDPGAgent, ReplayBuffer)
        self.peaks: dict[str, list[int]] = {EVOLVING: [], SAVING: []}
        self.others = self._count()
        self.counted: list[Counter[type]] = []

    def attach(self, trainer: ERLTrainer) -> None:
        self.trainer, self.stopwatch = trainer, Stopwatch()

    def phase(self, name: str) -> AbstractContextManager[object]:
        return self._measured(name) if name in self.peaks else nullcontext()

    def end_of_generation(self) -> None:
        with self.stopwatch.stopped():
            if self.curve.reached(self.trainer.env_steps):
                self.counted.append(self._count())

    def memory(self) -> Memory:
        """The peaks after the first generation, which loads code; counts as the curve is judged."""
        counts = {
            kind.__name__: sorted({counted[kind] - self.others[kind] for counted in self.counted})
            for kind in self.kinds
        }
        return Memory(max(self.peaks[EVOLVING][1:], default=0), max(self.peaks[SAVING]), counts)

    @contextmanager
    def _measured(self, name: str) -> Iterator[None]:
        reset_peak()
        before = status("VmRSS")
        yield
        self.peaks[name].append(max(0, status("VmHWM") - before))

    def _count(self) -> Counter[type]:
        gc.collect()
        return Counter(kind for kind in map(type, gc.get_objects()) if kind in self.kinds)
