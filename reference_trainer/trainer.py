"""Evolutionary reinforcement learning, one generation at a time."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO, TypeVar

import numpy as np
import torch
from tqdm import tqdm

from reference_trainer.champion import Champion
from reference_trainer.checkpoint import CheckpointStore, method_arrays
from reference_trainer.config import Config
from reference_trainer.ddpg import Losses
from reference_trainer.evaluation import Evaluation, Purpose, stream
from reference_trainer.evolution import rank
from reference_trainer.fused import HINDRANCE, is_small
from reference_trainer.hooks import Hooks
from reference_trainer.methods import make_method
from reference_trainer.metrics import Metrics, Record
from reference_trainer.plots import Plotter
from reference_trainer.population import Population, check_memory
from reference_trainer.replay_buffer import Batch, ReplayBuffer
from reference_trainer.rollout import StepBudget
from reference_trainer.task import make_task
from reference_trainer.upload import Uploader

T = TypeVar("T")
#: Rows of the ring per transition: an episode of ten steps or more fits its last state.
ROWS_PER_TRANSITION = 1.1
#: Generations whose seconds make the average.
TIMINGS = 1_000


class ERLTrainer:
    """Population, buffer, and two environments; `train()` runs the generations."""

    def __init__(
        self, config: Config, log: TextIO | None = None, hooks: Hooks | None = None
    ) -> None:
        self.config = config
        self.log = log or sys.stdout
        # One thread: small matrices gain nothing from two, and sums keep their order.
        torch.set_num_threads(1)
        self.task = make_task(config)
        check_memory(config, self.task.architecture, self.say)
        self.population = Population(config, self.task.architecture)
        learners = self.population.trained
        small = is_small(self.task.architecture, learners.actor, learners.critic)
        if config.compiled and small and HINDRANCE:
            self.say(f"Updates by PyTorch, not by the compiled module: {HINDRANCE}; install anew")
        self.buffer = self._new_buffer()
        self.method = make_method(config, self.population, self.buffer)
        self.budget = StepBudget(config.max_env_steps)
        self.metrics = Metrics(config.out / "metrics.jsonl")
        self.champion = Champion(
            config, self.task, self.population, self.budget, self.metrics, self.say
        )
        self.plotter = Plotter()
        self.uploader = Uploader(config.upload, self.say) if config.upload else None
        self.checkpoints = CheckpointStore(
            config.out / "checkpoints",
            config.keep_checkpoints,
            self.uploader.is_leased if self.uploader else lambda path: False,
        )
        self.generation = self.transitions = 0
        #: Environment steps of the last generation that was not cut.
        self.whole_generation = 0
        self.stopped = self.cut = False
        self.seconds: deque[float] = deque(maxlen=TIMINGS)
        self.hooks = hooks or Hooks()
        self.evaluation = Evaluation(config, self.task, self.buffer, self.budget, self.hooks)
        self.hooks.attach(self)

    def train(self) -> None:
        """Run the generations that are left."""
        self.say(self.task.describe())
        with self.hooks.training(self._generations_left()) as generations:
            for generation in generations:
                self.run_generation(generation)
                if self._is_over:
                    break
        if self.uploader:
            self.uploader.close()

    def run_generation(self, generation: int) -> None:
        """What a generation is: all play, learners learn, and a method says who plays next.

        The methods are one file each in `methods`; ERL's has the lines of its algorithm.
        """
        self.begin_generation(generation)
        with self.hooks.phase("evaluate_population"):
            self.evaluate_population()
        with self.hooks.phase("train_population"):
            self.train_population()
        with self.hooks.phase("evolve_population"):
            self.evolve_population()
        self.champion.validate()
        self.end_generation()
        with self.hooks.phase("checkpoint"):
            self.save_checkpoint()
        self.plot_progress()
        self.print_status()

    def begin_generation(self, generation: int) -> None:
        """Announce the generation and open its record."""
        self.generation = generation
        self._started = time.perf_counter()
        self.metrics.open(generation)
        self.say(f"\nGeneration {generation} / {self.config.generations}")

    def evaluate_population(self) -> None:
        """Every agent plays the same episodes; transitions go to the buffer."""
        if self.budget.left < self.whole_generation:
            self._judge_population()
            return
        generation, plans, fitnesses = self.generation, self.evaluation.plans(self.generation), []
        kept = self.evaluation.play_at_random(generation)
        before = self.budget.taken
        for member, agent in enumerate(self.bar(self.population.agents, "Evaluating agents")):
            played = list(self.evaluation.play(agent, member, generation, plans))
            kept += sum(stats.steps for stats in played)
            if len(played) == len(plans) and not played[-1].cut:
                agent.fitness = float(np.mean([stats.reward for stats in played]))
                fitnesses.append(agent.fitness)
        self.cut = len(fitnesses) < self.population.size
        self.transitions += kept
        self.metrics.note(new_transitions=kept)
        self._note_fitness(fitnesses)
        if not self.cut:
            if (generation - 1) % self.config.title_every == 0:
                self.champion.challenge(plans)
            self.metrics.note(**self.method.tell(generation))
            self.whole_generation = self.budget.taken - before

    def train_population(self) -> None:
        """Gradient steps for all learners at once, each on its own batches."""
        ready, stored = self.config.buffer_ready, len(self.buffer)
        self.metrics.note(updates=0)
        if not self.population.learners:
            return
        if stored < ready:
            self.say(f"Buffer not ready: {stored} / {ready}")
            return
        rng = self._random(Purpose.TRAINING)
        smoothing = self._smoothing(rng)
        for done in self.bar(range(self._gradient_steps()), "Training agents"):
            losses = self.population.trained.update(self._batches(rng), smoothing)
            self._log_losses(losses)
            self.hooks.after_update()
            self.metrics.note(updates=done + 1)

    def evolve_population(self) -> None:
        """The method writes over members those that play next; nothing is allocated.

        A generation that the step limit cut has no fitness to select by.
        """
        self.hooks.before_evolution()
        if self.config.evolution and not self.cut:
            self.metrics.note(**self.method.ask(self._random(Purpose.EVOLUTION)))

    def end_generation(self) -> None:
        """Close the record of the generation."""
        self.metrics.note(
            env_steps=self.env_steps,
            transitions=self.transitions,
            buffer=len(self.buffer),
            best_fitness=self.population.best.fitness,
        )
        self.metrics.close()

    def save_checkpoint(self) -> None:
        """Write a complete checkpoint, or leave the last one as it is."""
        due = self.generation % self.config.checkpoint_every == 0
        if not (due or self._is_last or self.stopped):
            return
        path = self.checkpoints.save(
            self.generation, self.population, self.buffer, self._state(), self.method.arrays()
        )
        if self.uploader:
            self.uploader.enqueue(path)
        self.hooks.after_checkpoint(path)

    def plot_progress(self) -> None:
        """Draw the run so far, every few generations and at the end."""
        if self.generation % self.config.plot_every and not self._is_last:
            return
        plots = self.config.out / "plots"
        self.plotter.fitness(self.history, plots / "fitness.png")
        if self.champion.compared:
            curves = {name: result.curve for name, result in self.champion.compared.items()}
            self.plotter.equity(curves, plots / "equity.png")
        self.hooks.after_plot()

    def print_status(self) -> None:
        """The block that says how far the run is."""
        stored, capacity = len(self.buffer), self.config.buffer_capacity
        self.seconds.append(time.perf_counter() - self._started)
        ready = "yes" if stored >= self.config.buffer_ready else "no"
        self.say(
            f"System status:\n"
            f"   Replay buffer:        {stored:,} / {capacity:,}\n"
            f"   Buffer ready:         {ready}\n"
            f"   Generation time:      {self.seconds[-1]:.1f} s\n"
            f"   Average generation:   {np.mean(self.seconds):.1f} s"
        )
        if self.uploader:
            self.say(f"   {self.uploader.status()}")
        self.hooks.end_of_generation()

    def resume(self) -> int:
        """Go on from the newest complete checkpoint; returns its generation, 0 without one."""
        path = self.checkpoints.latest()
        if path is None:
            return 0
        state = self.checkpoints.load(
            path, self.population, self.buffer, self.config.check_settings
        )
        self.generation = int(state["generation"])
        self.budget.taken = int(state["env_steps"])
        self.transitions = int(state["transitions"])
        self.whole_generation = int(state["whole_generation"])
        self.population.made_by = list(state["made_by"])
        self.method.restore(method_arrays(path), self._random(Purpose.EVOLUTION))
        self.metrics.restore(state["history"])
        if self.uploader:
            # The last process may have died before all of it was sent.
            self.uploader.enqueue(path)
        return self.generation

    def stop(self) -> None:
        """End the run after this generation, with a checkpoint."""
        self.stopped = True

    @property
    def env_steps(self) -> int:
        """Environment steps that were taken to learn and to select."""
        return self.budget.taken

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
        return self.generation >= self.config.generations or not self.budget.left

    @property
    def _is_over(self) -> bool:
        """True once generations, steps or patience have come to their end."""
        return self.stopped or self._is_last

    def _generations_left(self) -> range:
        """The numbers of the generations to run, unless steps or patience end before."""
        last = self.generation if self._is_over else self.config.generations
        return range(self.generation + 1, last + 1)

    def _random(self, purpose: Purpose) -> np.random.Generator:
        return stream(self.config.seed, purpose, self.generation)

    def _judge_population(self) -> None:
        """Too few steps for a generation are left: they decide who of the trained is the best.

        The last who played were not trained yet, so without this the last training is in vain.
        """
        if self.generation == 2 and self.config.evolution:
            self.say(
                f"The limit of {self.budget.limit:,} environment steps is reached before anything "
                "that evolution made has played: give more steps or shorter episodes"
            )
        before, members = self.budget.taken, rank(self.population.fitnesses())
        contenders = [self.population.best, *(self.population.agents[m] for m in members)]
        self.cut = True
        self.champion.finals(members, self.evaluation.judge(contenders, self.generation))
        self.transitions += self.budget.taken - before
        self.metrics.note(new_transitions=self.budget.taken - before)
        self._note_fitness([])

    def _note_fitness(self, fitnesses: Sequence[float]) -> None:
        """Fitness of the agents that played all their episodes, and what had made them."""
        values = np.array(fitnesses or [np.nan])
        mean, highest, lowest = (float(x) for x in (values.mean(), values.max(), values.min()))
        self.say(f"Fitness: mean {mean:.3f}, max {highest:.3f}, min {lowest:.3f}")
        found = {
            "fitness_mean": mean,
            "fitness_std": float(values.std()),
            "fitness_max": highest,
            "fitness_min": lowest,
        }
        self.metrics.note(
            **{name: value if fitnesses else None for name, value in found.items()},
            made_by={} if self.cut else self.population.statistics(),
        )

    def _gradient_steps(self) -> int:
        """A fixed number, or a share of the steps that this generation played."""
        ratio = self.config.updates_per_step
        if ratio is None:
            return self.config.gradient_steps
        return max(1, round(ratio * int(self.metrics.record["new_transitions"])))

    def _smoothing(self, rng: np.random.Generator) -> torch.Generator | None:
        """What draws the noise on the targets of several critics; one critic has none."""
        if self.config.critics == 1:
            return None
        return torch.Generator().manual_seed(int(rng.integers(2**63)))

    def _batches(self, rng: np.random.Generator) -> Iterator[Batch]:
        """The batches over which one gradient step accumulates."""
        for _ in range(self.config.accumulation_steps):
            rows = self.population.trained.rows
            batch = self.buffer.sample(rows, self.config.batch_size, rng)
            self.hooks.after_sample(batch)
            yield batch

    def _log_losses(self, losses: Losses) -> None:
        """Each agent remembers its own losses as plain numbers, the record their means."""
        critics, actors = losses.critic.tolist(), losses.actor.tolist()
        for agent, critic, actor in zip(self.population.learners, critics, actors, strict=True):
            agent.critic_losses.append(critic)
            agent.actor_losses.append(actor)
        self.metrics.note(
            critic_loss=sum(critics) / len(critics), actor_loss=sum(actors) / len(actors)
        )

    def _state(self) -> dict[str, Any]:
        return {
            "settings": self.config.algorithm_settings(),
            "env_steps": self.env_steps,
            "transitions": self.transitions,
            "whole_generation": self.whole_generation,
            "made_by": self.population.made_by,
            "history": list(self.history),
        }

    def _new_buffer(self) -> ReplayBuffer:
        config = self.config
        rows = int(config.buffer_capacity * ROWS_PER_TRANSITION) + 2
        return ReplayBuffer(
            config.buffer_capacity,
            self.task.storage(rows),
            rows,
            gamma=config.gamma,
            reward_scale=config.critic_reward_scale,
        )
