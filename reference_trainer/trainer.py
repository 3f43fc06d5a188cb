"""Evolutionary reinforcement learning, one generation at a time."""

from __future__ import annotations

import io
import json
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, TypeVar

import numpy as np
import psutil
import torch
from tqdm import tqdm

from leakguard import LeakGuard, phase
from reference_trainer.baselines import Performance, baselines, performance, table
from reference_trainer.checkpoint import CheckpointStore
from reference_trainer.config import Config
from reference_trainer.ddpg import DDPGAgent, Losses
from reference_trainer.environment import EpisodeSummary, TradingEnvironment
from reference_trainer.errors import CheckpointError, ConfigError
from reference_trainer.evolution import EvolutionRules, Fate, evolve
from reference_trainer.leaks import LeakSet
from reference_trainer.plots import Plotter
from reference_trainer.population import Population, bill_text, memory_bill
from reference_trainer.replay_buffer import Batch, ReplayBuffer
from reference_trainer.rollout import EpisodeStats, play_episode
from reference_trainer.task import EpisodePlan, make_task
from reference_trainer.upload import Uploader

T = TypeVar("T")
EVALUATION, TRAINING, EVOLUTION = range(3)
#: Rows of the ring per transition: an episode of ten steps or more fits its last state.
ROWS_PER_TRANSITION = 1.1
HISTORY = 10_000
BLANK_RECORD = {"generation": 0, "fitness_mean": 0.0, "fitness_std": 0.0, "fitness_max": 0.0}


class ERLTrainer:
    """Population, buffer, and two environments; `train()` runs the generations."""

    def __init__(self, config: Config, log: TextIO | None = None) -> None:
        self.config = config
        self.log = log or sys.stdout
        torch.set_num_threads(1)
        self.task = make_task(config)
        self._check_memory()
        self.population = Population(config, self.task.architecture)
        rows = int(config.buffer_capacity * ROWS_PER_TRANSITION) + 2
        self.buffer = ReplayBuffer(
            config.buffer_capacity,
            self.task.storage(rows),
            rows,
            gamma=config.gamma,
            n_step=config.n_step,
        )
        self.uploader = Uploader(config.upload, self.say) if config.upload else None
        self.checkpoints = CheckpointStore(
            config.out / "checkpoints",
            config.keep_checkpoints,
            self.uploader.is_leased if self.uploader else lambda path: False,
        )
        self.history: deque[dict[str, Any]] = deque(maxlen=HISTORY)
        self.generation = 0
        self.env_steps = 0
        self.transitions = 0
        self.stopped = False
        self.record: dict[str, Any] = {}
        self.best_is_new = False
        self._seconds: deque[float] = deque(maxlen=HISTORY)
        self.plotter = Plotter()
        self.baselines: dict[str, Performance] = {}
        self.compared: dict[str, Performance] = {}
        self.guard = self._guard()
        self.leaks = LeakSet(config.leaks, config.leak_size)
        self.leaks.attach(self)

    @property
    def episodes(self) -> int:
        """Episodes of one generation."""
        return self.config.population_size * self.config.episodes_per_agent

    def train(self) -> None:
        """Run the generations that are left, watched by leakguard."""
        self.warm_up()
        with self._stopping_on_sigterm(), self.guard as guard:
            guard.snapshot("Trainer initialized", baseline=True)
            for generation in guard.generations(self._generations_left()):
                self.run_generation(generation)
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
        self.record = {"generation": generation}
        self.say(f"\nGeneration {generation} / {self.config.generations}")

    @phase("evaluate_population")
    def evaluate_population(self) -> None:
        """Every agent plays the same episodes; transitions go to the buffer."""
        plans, before = self._episode_plans(), self.transitions
        for member, agent in enumerate(self.bar(self.population.agents, "Evaluating agents")):
            episodes = [self._play(member, agent, number, plan) for number, plan in plans]
            agent.fitness = float(np.mean([stats.reward for stats in episodes]))
        self.record["new_steps"] = self.transitions - before
        self._note_fitness(self.population.fitnesses())
        self._challenge_the_best([plan for _, plan in plans])
        self.leaks.after_evaluation()

    @phase("train_population")
    def train_population(self) -> None:
        """Gradient steps for all agents at once, each on its own batches."""
        ready, stored = self.config.buffer_ready, len(self.buffer)
        self.record["updates"] = 0
        if stored < ready:
            self.say(f"Buffer not ready: {stored} / {ready}")
            return
        rng = self._random(TRAINING)
        generator = torch.Generator().manual_seed(int(rng.integers(2**31)))
        for _ in self.bar(range(self._gradient_steps()), "Training agents"):
            losses = self.population.trained.update(
                self._batches(rng), generator=generator, keep_graph=self.leaks.keep_graph
            )
            self._log_losses(losses)
            self.leaks.after_update()
            self.record["updates"] += 1

    @phase("evolve_population")
    def evolve_population(self) -> None:
        """Elites stay, winners breed, the rest is written over; nothing is allocated."""
        self.leaks.before_evolution()
        if self.config.evolution and self.generation % self.config.evolve_every == 0:
            fate = evolve(
                self.population.trained,
                self.population.fitnesses(),
                self._evolution_rules(),
                self._random(EVOLUTION),
            )
            self._note_fate(fate)

    def validate_best_agent(self) -> None:
        """When the best agent is new, play the validation episodes without noise."""
        self.record["validation"] = None
        if not self.best_is_new:
            return
        plans = self.task.validation_plans()
        played = [
            play_episode(
                self.task.val_env, self.population.best, seed=plan.seed, options=plan.options
            )
            for plan in plans
        ]
        self.record["validation"] = float(np.mean([stats.reward for stats in played]))
        self.best_is_new = False
        self.say(f"Best agent: validation reward {self.record['validation']:.3f}")
        self._compare([stats.summary for stats in played if stats.summary])

    def end_generation(self) -> None:
        """Close the record of the generation."""
        self.record["env_steps"] = self.env_steps
        self.record["transitions"] = self.transitions
        self.record["best_fitness"] = self.population.best.fitness
        self.record["buffer"] = len(self.buffer)
        self.history.append(self.record)
        self.config.out.mkdir(parents=True, exist_ok=True)
        with (self.config.out / "metrics.jsonl").open("a") as stream:
            stream.write(json.dumps(self.record) + "\n")

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
        """Draw the fitness so far, every few generations and at the end."""
        if self.generation % self.config.plot_every == 0 or self._is_last:
            plots = self.config.out / "plots"
            self.plotter.fitness(self.history, plots / "fitness.png")
            if self.compared:
                curves = {name: result.curve for name, result in self.compared.items()}
                self.plotter.equity(curves, plots / "equity.png")
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
        self.history.extend(state["history"])
        self._rewrite_metrics()
        return self.generation

    def say(self, text: str) -> None:
        """Print a line between the progress bars."""
        print(text, file=self.log, flush=True)

    def bar(self, items: Iterable[T], title: str) -> Iterator[T]:
        """A progress bar on stderr that leaves nothing behind."""
        yield from tqdm(items, desc=title, leave=False, disable=not self.config.progress)

    @property
    def _is_last(self) -> bool:
        return self.generation >= self.config.generations

    def _play(self, member: int, agent: DDPGAgent, number: int, plan: EpisodePlan) -> EpisodeStats:
        env = self.leaks.environment(self.task)
        random = self.env_steps < self.config.random_steps
        noisy = random or self.config.explore_in_fitness
        explore = self._random(EVALUATION, member, number) if noisy else None
        stats = play_episode(
            env,
            agent,
            seed=plan.seed,
            options=plan.options,
            explore=explore,
            buffer=self.buffer,
            member=member,
            random=random,
        )
        self.transitions += stats.steps
        self.env_steps += stats.steps
        self.leaks.after_episode(env, stats)
        return stats

    def _episode_plans(self) -> list[tuple[int, EpisodePlan]]:
        """The same start states for all agents: fitness differences, not luck."""
        rng = self._random(EVALUATION)
        count = self.config.episodes_per_agent
        return [(number, self.task.plan_episode(rng)) for number in range(count)]

    def _log_losses(self, losses: Losses) -> None:
        for name, loss in (("critic", losses.critic), ("actor", losses.actor)):
            if loss is None:
                continue
            values = self.leaks.loggable(loss)
            for agent, value in zip(self.population.agents, values, strict=True):
                getattr(agent, f"{name}_losses").append(value)
            self.record[f"{name}_loss"] = float(loss.detach().mean())

    def _gradient_steps(self) -> int:
        """A fixed number, or a share of the steps that this generation played."""
        ratio = self.config.updates_per_step
        if ratio is None:
            return self.config.gradient_steps
        return max(1, round(ratio * self.record["new_steps"]))

    def _batches(self, rng: np.random.Generator) -> Iterator[Batch]:
        """The batches over which one gradient step accumulates."""
        for _ in range(self.config.accumulation_steps):
            batch = self.buffer.sample(self.config.population_size, self.config.batch_size, rng)
            self.leaks.after_sample(batch)
            yield batch

    def _evolution_rules(self) -> EvolutionRules:
        config = self.config
        return EvolutionRules(
            elites=config.elites,
            tournament_size=config.tournament_size,
            crossover_probability=config.crossover_probability,
            mutation_probability=config.mutation_probability,
            mutation_fraction=config.mutation_fraction,
            mutation_strength=config.mutation_strength,
            super_mutation_strength=config.super_mutation_strength,
            super_mutation_probability=config.super_mutation_probability,
            reset_mutation_probability=config.reset_mutation_probability,
        )

    def _note_fitness(self, fitnesses: list[float]) -> None:
        values = np.array(fitnesses)
        self.record |= {
            "fitness_mean": float(values.mean()),
            "fitness_std": float(values.std()),
            "fitness_max": float(values.max()),
            "fitness_min": float(values.min()),
        }
        self.say(
            f"Fitness: mean {values.mean():.3f}, max {values.max():.3f}, min {values.min():.3f}"
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
        played = [
            play_episode(self.task.eval_env, agent, seed=plan.seed, options=plan.options)
            for plan in plans
        ]
        self.env_steps += sum(stats.steps for stats in played)
        return float(np.mean([stats.reward for stats in played]))

    def _compare(self, summaries: list[EpisodeSummary]) -> None:
        """The best agent beside the strategies that anybody can follow, on the same windows."""
        env = self.task.val_env.unwrapped
        if not isinstance(env, TradingEnvironment):
            return
        results = {"best agent": performance(summaries, env.equity_curve)}
        if not self.baselines:
            windows = [plan.options or {} for plan in self.task.validation_plans()]
            self.baselines = baselines(env, windows[::-1], self.config.seed)
        self.compared = {**results, **self.baselines}
        self.record["validation_return"] = results["best agent"].total_return
        self.say(table(self.compared))

    def _note_fate(self, fate: Fate) -> None:
        self.record["elites"] = fate.elites
        self.record["mutated"] = len(fate.mutated)
        self.record["crossed"] = len(fate.parents)

    def _random(self, purpose: int, *more: int) -> np.random.Generator:
        """A stream of its own for each purpose and generation, whatever ran before."""
        return np.random.default_rng([self.config.seed, purpose, self.generation, *more])

    def _generations_left(self) -> Iterator[int]:
        """The numbers of the generations to run, until steps or patience end."""
        limit = self.config.max_env_steps or float("inf")
        while not (self.stopped or self._is_last) and self.env_steps < limit:
            yield self.generation + 1

    def _state(self) -> dict[str, Any]:
        return {
            "settings": self.config.algorithm_settings(),
            "env_steps": self.env_steps,
            "transitions": self.transitions,
            "history": list(self.history),
        }

    def _check_settings(self, stored: dict[str, Any]) -> None:
        now = self.config.algorithm_settings()
        changed = [name for name in now if stored.get(name) != now[name]]
        if changed:
            name = changed[0]
            raise CheckpointError(
                f"the checkpoint was made with {name}={stored.get(name)!r}, this run has "
                f"{now[name]!r}: resume with the settings of the first run"
            )

    def _rewrite_metrics(self) -> None:
        """Drop the lines of a generation that was cut short."""
        lines = "".join(json.dumps(record) + "\n" for record in self.history)
        (self.config.out / "metrics.jsonl").write_text(lines)

    @contextmanager
    def _stopping_on_sigterm(self) -> Iterator[None]:
        """SIGTERM lets the generation finish, which ends with a checkpoint."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGTERM, lambda number, frame: self.stop())
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, before)

    def stop(self) -> None:
        """End the run after this generation, with a checkpoint."""
        self.stopped = True

    def _check_memory(self) -> None:
        """Refuse a run that cannot fit, before anything large is allocated."""
        architecture = self.task.architecture
        bill = memory_bill(
            architecture.actor_sizes,
            architecture.critic_sizes,
            self.config.population_size,
            twin=self.config.algorithm == "td3",
        )
        available = psutil.virtual_memory().available
        if self.config.print_bill:
            self.say(bill_text(bill, available))
        if bill["total"] > available and not self.config.force:
            raise ConfigError(
                f"the population needs {bill['total'] / 1e9:.1f} GB, {available / 1e9:.1f} GB are "
                "available: use smaller hidden layers or fewer agents, or --force"
            )

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

    def _guard(self) -> LeakGuard:
        guard = LeakGuard(
            watch={
                TradingEnvironment: 2,
                DDPGAgent: (self.config.population_size, self.config.population_size + 1),
                ReplayBuffer: 1,
            },
            out=self.config.out / "run.jsonl",
            log=self.log,
        )
        buffer = self.buffer
        guard.gauge("replay_buffer", lambda: len(buffer), capacity=self.config.buffer_capacity)
        return guard
