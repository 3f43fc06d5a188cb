"""Evolutionary reinforcement learning, one generation at a time."""

from __future__ import annotations

import gc
import io
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, TypeVar

import numpy as np
import torch
from tqdm import tqdm

from leakguard import LeakGuard, phase
from reference_trainer.baselines import Performance, baselines, performance, table
from reference_trainer.breeding import Breeder
from reference_trainer.checkpoint import CheckpointStore
from reference_trainer.config import Config
from reference_trainer.ddpg import DDPGAgent, Losses
from reference_trainer.environment import EpisodeSummary, TradingEnvironment
from reference_trainer.errors import CheckpointError, ConfigError
from reference_trainer.evaluation import Evaluator, LocalEvaluator, PoolEvaluator, Round
from reference_trainer.leaks import LeakSet
from reference_trainer.metrics import Metrics, Record
from reference_trainer.plots import Plotter
from reference_trainer.population import Population, check_memory
from reference_trainer.replay_buffer import Batch, ReplayBuffer
from reference_trainer.rollout import play_episode
from reference_trainer.stopping import on_sigterm
from reference_trainer.streams import Purpose, stream
from reference_trainer.task import EpisodePlan, make_task
from reference_trainer.upload import Uploader

T = TypeVar("T")
#: Rows of the ring per transition: an episode of ten steps or more fits its last state.
ROWS_PER_TRANSITION = 1.1
TIMINGS = 1_000
BLANK_RECORD = {"generation": 0, "fitness_mean": 0.0, "fitness_std": 0.0, "fitness_max": 0.0}


class ERLTrainer:
    """Population, buffer, and two environments; `train()` runs the generations."""

    def __init__(self, config: Config, log: TextIO | None = None) -> None:
        self.config = config
        self.log = log or sys.stdout
        # One thread: small matrices gain nothing from two, and sums keep their order.
        torch.set_num_threads(1)
        self.task = make_task(config)
        check_memory(config, self.task.architecture, self.say)
        self.population = Population(config, self.task.architecture)
        self.buffer = self._new_buffer()
        self.breeder = Breeder(config, self.population, self.buffer)
        self.metrics = Metrics(config.out / "metrics.jsonl")
        self.plotter = Plotter()
        self.uploader = Uploader(config.upload, self.say) if config.upload else None
        self.checkpoints = CheckpointStore(
            config.out / "checkpoints",
            config.keep_checkpoints,
            self.uploader.is_leased if self.uploader else lambda path: False,
        )
        self.generation = self.env_steps = self.transitions = 0
        self.best_is_new = self.stopped = False
        self.baselines: dict[str, Performance] = {}
        self.compared: dict[str, Performance] = {}
        self._seconds: deque[float] = deque(maxlen=TIMINGS)
        self.guard = self._guard()
        self.leaks = LeakSet(config.leaks, config.leak_size)
        self.leaks.attach(self)
        self.evaluator = self._evaluator()

    def train(self) -> None:
        """Run the generations that are left, watched by leakguard."""
        self.say(self.task.describe())
        self.warm_up()
        try:
            with on_sigterm(self.stop), self._watched() as generations:
                for generation in generations:
                    self.run_generation(generation)
        finally:
            self.evaluator.close()
        if self.uploader:
            self.uploader.close()

    def run_generation(self, generation: int) -> None:
        """One generation of ERL (Khadka & Tumer 2018, algorithm 1)."""
        self.begin_generation(generation)
        self.evaluate_population()
        self.train_population()
        self.evolve_population()
        self.validate_best_agent()
        self.end_generation()
        self.save_checkpoint()
        self.plot_progress()
        self.print_status()

    def begin_generation(self, generation: int) -> None:
        """Announce the generation and open its record."""
        self.generation = generation
        self._started = time.perf_counter()
        self.metrics.open(generation)
        self.say(f"\nGeneration {generation} / {self.config.generations}")

    @phase("evaluate_population")
    def evaluate_population(self) -> None:
        """Every agent plays the same episodes; transitions go to the buffer."""
        plans, before = self._episode_plans(), self.transitions
        round_ = Round(self.generation, plans, self.env_steps < self.config.random_steps)
        played = self.evaluator.play(self.population, round_)
        members = self.bar(self.population.agents, "Evaluating agents")
        for agent, episodes in zip(members, played, strict=True):
            agent.fitness = float(np.mean([stats.reward for stats in episodes]))
            self.transitions += sum(stats.steps for stats in episodes)
        self.env_steps += self.transitions - before
        self.metrics.note(new_transitions=self.transitions - before)
        self._note_fitness()
        self._challenge_the_best(plans)

    @phase("train_population")
    def train_population(self) -> None:
        """Gradient steps for all agents at once, each on its own batches."""
        ready, stored = self.config.buffer_ready, len(self.buffer)
        self.metrics.note(updates=0)
        if stored < ready:
            self.say(f"Buffer not ready: {stored} / {ready}")
            return
        rng = self._random(Purpose.TRAINING)
        generator = torch.Generator().manual_seed(int(rng.integers(2**31)))
        for done in self.bar(range(self._gradient_steps()), "Training agents"):
            losses = self.population.trained.update(
                self._batches(rng), generator=generator, keep_graph=self.leaks.keep_graph
            )
            self._log_losses(losses)
            self.leaks.after_update()
            self.metrics.note(updates=done + 1)

    @phase("evolve_population")
    def evolve_population(self) -> None:
        """Elites stay, winners breed, the rest is written over; nothing is allocated."""
        self.leaks.before_evolution()
        self.breeder.breed(self.generation, self._random(Purpose.EVOLUTION))

    def validate_best_agent(self) -> None:
        """When the best agent is new, play the validation episodes without noise."""
        self.metrics.note(validation=None)
        if not self.best_is_new:
            return
        self.best_is_new = False
        plans, env, best = self.task.validation_plans(), self.task.val_env, self.population.best
        played = [play_episode(env, best, seed=plan.seed, options=plan.options) for plan in plans]
        validation = float(np.mean([stats.reward for stats in played]))
        self.metrics.note(validation=validation)
        self.say(f"Best agent: validation reward {validation:.3f}")
        self._compare([stats.summary for stats in played if stats.summary])

    def end_generation(self) -> None:
        """Close the record of the generation."""
        self.metrics.note(
            env_steps=self.env_steps,
            transitions=self.transitions,
            buffer=len(self.buffer),
            best_fitness=self.population.best.fitness,
        )
        self.metrics.close()

    @phase("checkpoint")
    def save_checkpoint(self) -> None:
        """Write a complete checkpoint, or leave the last one as it is."""
        due = self.generation % self.config.checkpoint_every == 0
        if not (due or self._is_last or self.stopped):
            return
        path = self.checkpoints.save(self.generation, self.population, self.buffer, self._state())
        if self.uploader:
            self.uploader.enqueue(path)
        self.leaks.during_checkpoint(path)

    def plot_progress(self) -> None:
        """Draw the run so far, every few generations and at the end."""
        if self.generation % self.config.plot_every and not self._is_last:
            return
        plots = self.config.out / "plots"
        self.plotter.fitness(self.history, plots / "fitness.png")
        if self.compared:
            curves = {name: result.curve for name, result in self.compared.items()}
            self.plotter.equity(curves, plots / "equity.png")
        # The artists of a figure refer to one another: free them now, not some generations later.
        gc.collect()
        self.leaks.after_plot()

    def print_status(self) -> None:
        """The block that says how far the run is."""
        stored, capacity = len(self.buffer), self.config.buffer_capacity
        self._seconds.append(time.perf_counter() - self._started)
        ready = "yes" if stored >= self.config.buffer_ready else "no"
        self.say(
            f"System status:\n"
            f"   Replay buffer:        {stored:,} / {capacity:,}\n"
            f"   Buffer ready:         {ready}\n"
            f"   Generation time:      {self._seconds[-1]:.1f} s\n"
            f"   Average generation:   {np.mean(self._seconds):.1f} s"
        )
        if self.uploader:
            self.say(f"   {self.uploader.status()}")
        self.leaks.end_of_generation()

    def resume(self) -> int:
        """Go on from the newest complete checkpoint; returns its generation, 0 without one."""
        path = self.checkpoints.latest()
        if path is None:
            return 0
        state = self.checkpoints.load(path, self.population, self.buffer, self._check_settings)
        self.generation = int(state["generation"])
        self.env_steps = int(state["env_steps"])
        self.transitions = int(state["transitions"])
        self.breeder.made_by = list(state["made_by"])
        self.metrics.restore(state["history"])
        return self.generation

    def stop(self) -> None:
        """End the run after this generation, with a checkpoint."""
        self.stopped = True

    def warm_up(self) -> None:
        """Touch what a generation touches, and leave nothing changed.

        Thread pools, scratch tensors, fonts and library caches are allocated before the baseline,
        so the growth that is measured from there is the run's own.
        """
        for env in (self.task.eval_env, self.task.val_env):
            play_episode(env, self.population.best, seed=0)
        config = self.config
        blank = self.buffer.blank_batch(config.population_size, config.batch_size)
        self.population.trained.rehearse(blank)
        self.plotter.fitness([BLANK_RECORD], io.BytesIO())

    @property
    def history(self) -> deque[Record]:
        """The records of all generations so far."""
        return self.metrics.history

    @property
    def episodes(self) -> int:
        """Episodes of one generation."""
        return self.config.population_size * self.config.episodes_per_agent

    def say(self, text: str) -> None:
        """Print a line between the progress bars."""
        print(text, file=self.log, flush=True)

    def bar(self, items: Iterable[T], title: str) -> Iterator[T]:
        """A progress bar on stderr that leaves nothing behind."""
        yield from tqdm(items, desc=title, leave=False, disable=not self.config.progress)

    @property
    def _is_last(self) -> bool:
        return self.generation >= self.config.generations

    def _generations_left(self) -> Iterator[int]:
        """The numbers of the generations to run, until steps or patience end."""
        limit = self.config.max_env_steps or float("inf")
        while not (self.stopped or self._is_last) and self.env_steps < limit:
            yield self.generation + 1

    def _random(self, purpose: Purpose) -> np.random.Generator:
        return stream(self.config.seed, purpose, self.generation)

    def _episode_plans(self) -> list[EpisodePlan]:
        """The same start states for all agents: fitness differences, not luck."""
        rng = self._random(Purpose.EVALUATION)
        return [self.task.plan_episode(rng) for _ in range(self.config.episodes_per_agent)]

    def _note_fitness(self) -> None:
        values = np.array(self.population.fitnesses())
        mean, highest, lowest = values.mean(), values.max(), values.min()
        self.say(f"Fitness: mean {mean:.3f}, max {highest:.3f}, min {lowest:.3f}")
        self.metrics.note(
            fitness_mean=float(mean),
            fitness_std=float(values.std()),
            fitness_max=float(highest),
            fitness_min=float(lowest),
            made_by=self.breeder.statistics(),
        )

    def _challenge_the_best(self, plans: list[EpisodePlan]) -> None:
        """The champion and the best so far play the same episodes without noise.

        A fitness of one generation says nothing about another's: the start days differ. The
        winner is copied now, before training changes the champion.
        """
        champion = int(np.argmax(self.population.fitnesses()))
        challenger, best = self.population.agents[champion], self.population.best
        score = self._score(challenger, plans)
        if best.fitness is not None:
            best.fitness = self._score(best, plans)
        if best.fitness is None or score > best.fitness:
            self.population.keep_as_best(champion)
            best.fitness = score
            self.best_is_new = True

    def _score(self, agent: DDPGAgent, plans: list[EpisodePlan]) -> float:
        """Mean reward without noise; the steps count, the transitions are not kept."""
        env = self.task.eval_env
        played = [play_episode(env, agent, seed=plan.seed, options=plan.options) for plan in plans]
        self.env_steps += sum(stats.steps for stats in played)
        return float(np.mean([stats.reward for stats in played]))

    def _gradient_steps(self) -> int:
        """A fixed number, or a share of the steps that this generation played."""
        ratio = self.config.updates_per_step
        if ratio is None:
            return self.config.gradient_steps
        return max(1, round(ratio * self.metrics.record["new_transitions"]))

    def _batches(self, rng: np.random.Generator) -> Iterator[Batch]:
        """The batches over which one gradient step accumulates."""
        for _ in range(self.config.accumulation_steps):
            batch = self.buffer.sample(self.config.population_size, self.config.batch_size, rng)
            self.leaks.after_sample(batch)
            yield batch

    def _log_losses(self, losses: Losses) -> None:
        for name, loss in (("critic", losses.critic), ("actor", losses.actor)):
            if loss is None:
                continue
            values = self.leaks.loggable(loss)
            for agent, value in zip(self.population.agents, values, strict=True):
                getattr(agent, f"{name}_losses").append(value)
            self.metrics.note(**{f"{name}_loss": float(loss.detach().mean())})

    def _compare(self, summaries: list[EpisodeSummary]) -> None:
        """The best agent beside the strategies that anybody can follow, on the same windows."""
        env = self.task.val_env.unwrapped
        if not isinstance(env, TradingEnvironment):
            return
        windows = [plan.options or {} for plan in self.task.validation_plans()]
        best = performance(summaries, env.equity_curve)
        # The last window played is the one whose curve is drawn, here and for the baselines.
        self.baselines = self.baselines or baselines(env, windows[::-1], self.config.seed)
        self.compared = {"best agent": best, **self.baselines}
        self.metrics.note(validation_return=best.total_return)
        self.say(table(self.compared))

    def _state(self) -> dict[str, Any]:
        return {
            "settings": self.config.algorithm_settings(),
            "env_steps": self.env_steps,
            "transitions": self.transitions,
            "made_by": self.breeder.made_by,
            "history": list(self.history),
        }

    def _check_settings(self, stored: dict[str, Any]) -> None:
        now = self.config.algorithm_settings()
        for name, value in now.items():
            if stored.get(name) != value:
                raise CheckpointError(
                    f"the checkpoint was made with {name}={stored.get(name)!r}, this run has "
                    f"{value!r}: resume with the settings of the first run"
                )

    def _new_buffer(self) -> ReplayBuffer:
        config = self.config
        rows = int(config.buffer_capacity * ROWS_PER_TRANSITION) + 2
        return ReplayBuffer(
            config.buffer_capacity,
            self.task.storage(rows),
            rows,
            gamma=config.gamma,
            n_step=config.n_step,
        )

    def _evaluator(self) -> Evaluator:
        if not self.config.workers:
            return LocalEvaluator(self.config, self.task, self.buffer, self.leaks)
        if self.config.leaks:
            raise ConfigError("leaks live in the trainer's process: use --leak without --workers")
        return PoolEvaluator(self.config, self.buffer)

    @contextmanager
    def _watched(self) -> Iterator[Iterator[int]]:
        """The generations that are left, under the guard unless it is switched off."""
        if not self.config.guard:
            yield self._generations_left()
            return
        with self.guard as guard:
            guard.snapshot("Trainer initialized", baseline=True)
            yield guard.generations(self._generations_left())
            self._plot_memory(guard)

    def _plot_memory(self, guard: LeakGuard) -> None:
        series: dict[str, list[float]] = {}
        for snapshot in guard.run.snapshots:
            if snapshot.phase and "rss" in snapshot.metrics:
                series.setdefault(snapshot.phase, []).append(snapshot.metrics["rss"] / 1e6)
        if series:
            self.plotter.memory(series, self.config.out / "plots" / "memory.png")

    def _guard(self) -> LeakGuard:
        size = self.config.population_size
        guard = LeakGuard(
            watch={TradingEnvironment: 2, DDPGAgent: (size, size + 1), ReplayBuffer: 1},
            out=self.config.out / "run.jsonl",
            log=self.log,
        )
        buffer = self.buffer
        guard.gauge("replay_buffer", lambda: len(buffer), capacity=self.config.buffer_capacity)
        if (uploader := self.uploader) is not None:
            guard.gauge("upload_queue", lambda: uploader.pending, capacity=uploader.capacity)
        return guard
