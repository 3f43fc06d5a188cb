"""The points of a run at which others may look on or step in. The trainer itself needs none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reference_trainer.replay_buffer import Batch
    from reference_trainer.rollout import EpisodeStats
    from reference_trainer.task import Env


class Hooks:
    """Nobody looks on: every point is passed without effect."""

    def attach(self, trainer: Any) -> None:
        """Called once with the ``ERLTrainer``, which knows this file, when it has been built."""

    def training(self, generations: Iterable[int]) -> AbstractContextManager[Iterable[int]]:
        """Surround the whole run; gives the generations that are to be run."""
        return nullcontext(generations)

    def phase(self, name: str) -> AbstractContextManager[object]:
        """Surround a phase of a generation."""
        return nullcontext()

    def environment(self, env: Env) -> Env:
        """Give the environment in which the next episode is played."""
        return env

    def after_episode(self, env: Env, stats: EpisodeStats) -> None:
        """Called when an episode is over."""

    def after_sample(self, batch: Batch) -> None:
        """Called with each batch before it is used."""

    def after_update(self) -> None:
        """Called after each gradient step, when its losses are in the agents' histories."""

    def before_evolution(self) -> None:
        """Called before the population is replaced."""

    def after_plot(self) -> None:
        """Called when the run has drawn its plots."""

    def after_checkpoint(self, path: Path) -> None:
        """Called when a checkpoint is on disk, inside its phase."""

    def end_of_generation(self) -> None:
        """Called when everything else of a generation is done."""


class HookChain(Hooks):
    """Several hooks as one: at every point each has its turn, the first one first."""

    def __init__(self, hooks: Sequence[Hooks]) -> None:
        self.hooks = tuple(hooks)

    def attach(self, trainer: Any) -> None:
        for hook in self.hooks:
            hook.attach(trainer)

    @contextmanager
    def training(self, generations: Iterable[int]) -> Iterator[Iterable[int]]:
        with ExitStack() as stack:
            for hook in self.hooks:
                generations = stack.enter_context(hook.training(generations))
            yield generations

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        with ExitStack() as stack:
            for hook in self.hooks:
                stack.enter_context(hook.phase(name))
            yield

    def environment(self, env: Env) -> Env:
        for hook in self.hooks:
            env = hook.environment(env)
        return env

    def after_episode(self, env: Env, stats: EpisodeStats) -> None:
        for hook in self.hooks:
            hook.after_episode(env, stats)

    def after_sample(self, batch: Batch) -> None:
        for hook in self.hooks:
            hook.after_sample(batch)

    def after_update(self) -> None:
        for hook in self.hooks:
            hook.after_update()

    def before_evolution(self) -> None:
        for hook in self.hooks:
            hook.before_evolution()

    def after_plot(self) -> None:
        for hook in self.hooks:
            hook.after_plot()

    def after_checkpoint(self, path: Path) -> None:
        for hook in self.hooks:
            hook.after_checkpoint(path)

    def end_of_generation(self) -> None:
        for hook in self.hooks:
            hook.end_of_generation()
