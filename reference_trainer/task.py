"""What is learnt: the market, or any continuous-action Gymnasium task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import gymnasium
import numpy as np

from reference_trainer.config import Config
from reference_trainer.data import Panel, Split, open_market, split_days
from reference_trainer.environment import TradingEnvironment, TradingRules
from reference_trainer.errors import ConfigError
from reference_trainer.networks import (
    Architecture,
    mlp_architecture,
    per_asset_architecture,
)
from reference_trainer.observation import MarketView
from reference_trainer.state_storage import (
    DensePanelStates,
    SparsePanelStates,
    StateStorage,
    VectorStates,
)

Env = gymnasium.Env[Any, Any]


@dataclass(frozen=True)
class EpisodePlan:
    """Where an episode starts; every agent of a generation plays the same plans."""

    seed: int
    options: dict[str, Any] | None = None


class Task(Protocol):
    """The two environments of a run and what fits them."""

    eval_env: Env
    val_env: Env
    architecture: Architecture

    def describe(self) -> str: ...
    def new_env(self) -> Env: ...
    def storage(self, rows: int) -> StateStorage: ...
    def plan_episode(self, rng: np.random.Generator) -> EpisodePlan: ...
    def validation_plans(self) -> list[EpisodePlan]: ...


class TradingTask:
    """Trading on the panel: training windows at random, validation windows evenly spread."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.panel: Panel = open_market(config)
        self.split: Split = split_days(
            self.panel.days,
            context_days=config.context_days,
            episode_days=config.episode_days,
            validation_days=config.validation_days,
            gap_days=config.settlement_days,
        )
        train = self.split.train
        self.stats = self.panel.normalization_stats(train.start, train.stop)
        self.view = self._market_view()
        self.architecture = self._architecture()
        self.eval_env: Env = self.new_env()
        self.val_env: Env = self.new_env(first=self.split.validation.start)

    def describe(self) -> str:
        """What is traded, and which days train and validate."""
        panel, train, validation = self.panel, self.split.train, self.split.validation
        return (
            f"Market {panel.source}: {panel.days} days x {panel.stocks} stocks x "
            f"{len(panel.features)} features\n"
            f"Training days {train.start} to {train.stop - 1}, "
            f"validation days {validation.start} to {validation.stop - 1}"
        )

    def new_env(self, first: int | None = None) -> TradingEnvironment:
        """An environment on the shared panel, aimed at its `first` day or the first to train on."""
        config, start = self.config, self.split.train.start if first is None else first
        return TradingEnvironment(
            self.panel.data_array,
            self.panel.dates,
            self.stats,
            start,
            start + config.episode_days,
            start + config.trading_days,
            mask=self.panel.mask,
            open_column=self.panel.feature("open"),
            close_column=self.panel.feature("close"),
            view=self.view,
            rules=TradingRules(
                cost_rate=config.cost_rate,
                max_positions=config.max_positions,
                excess=config.reward == "excess",
            ),
        )

    def storage(self, rows: int) -> StateStorage:
        """Indices into the panel, with the smaller of the two portfolio layouts."""
        stocks, slots = self.panel.stocks, self.config.max_positions
        if stocks > 2 * slots:
            return SparsePanelStates(rows, self.view, stocks, slots)
        return DensePanelStates(rows, self.view, stocks)

    def plan_episode(self, rng: np.random.Generator) -> EpisodePlan:
        """A window somewhere in the training days."""
        train = self.split.train
        start = int(rng.integers(train.start, train.stop - self.config.episode_days))
        return EpisodePlan(start, self.window(start))

    def validation_plans(self) -> list[EpisodePlan]:
        """Windows spread evenly over the validation days."""
        days = self.split.validation
        last = days.stop - 1 - self.config.episode_days
        starts = np.linspace(days.start, last, self.config.validation_episodes).astype(int)
        return [EpisodePlan(int(start), self.window(int(start))) for start in starts]

    def window(self, start: int) -> dict[str, Any]:
        """The options of `reset` for an episode that starts on a day."""
        return {
            "start_idx": start,
            "trading_end_idx": start + self.config.trading_days,
            "end_idx": start + self.config.episode_days,
        }

    def _market_view(self) -> MarketView:
        config = self.config
        if config.window - 1 > config.context_days:
            raise ConfigError(
                f"a window of {config.window} days needs as much context, got "
                f"{config.context_days}: raise context_days or shrink the window"
            )
        return MarketView(self.panel.data_array, self.stats, tuple(range(config.window)))

    def _architecture(self) -> Architecture:
        config, stocks = self.config, self.panel.stocks
        keep = config.max_positions if config.max_positions < stocks else None
        if config.network == "per_asset":
            return per_asset_architecture(stocks, self.view.per_stock, config.hidden, keep)
        size = self.view.size + stocks + 2
        return mlp_architecture(size, stocks, config.hidden, keep, config.actor_hidden)


class GymTask:
    """Any Gymnasium task with a box of actions, by its registered name."""

    def __init__(self, config: Config) -> None:
        if config.env_id is None:
            raise ConfigError("a Gymnasium task needs its name")
        self.config, self.env_id = config, config.env_id
        self.eval_env: Env = self.new_env()
        self.val_env: Env = self.new_env()
        self.architecture = mlp_architecture(
            int(np.prod(self.eval_env.observation_space.shape or ())),
            int(np.prod(self.eval_env.action_space.shape or ())),
            config.hidden,
            actor_hidden=config.actor_hidden,
        )

    def describe(self) -> str:
        """The task and the sizes of its spaces."""
        sizes = self.architecture
        return f"Task {self.env_id}: {sizes.observation_size} numbers seen, {sizes.action_size} set"

    def new_env(self) -> Env:
        """Another environment of this name."""
        try:
            env = gymnasium.make(self.env_id)
        except (gymnasium.error.Error, ImportError) as problem:
            raise ConfigError(f"no environment {self.env_id!r}: {problem}") from None
        spaces = (env.observation_space, env.action_space)
        if not all(isinstance(space, gymnasium.spaces.Box) for space in spaces):
            raise ConfigError(f"{self.env_id} has {spaces}, this trainer needs boxes of numbers")
        return normalized(env)

    def storage(self, rows: int) -> StateStorage:
        """Float32 vectors."""
        return VectorStates(rows, self.architecture.observation_size, self.architecture.action_size)

    def plan_episode(self, rng: np.random.Generator) -> EpisodePlan:
        """A start state by seed."""
        return EpisodePlan(int(rng.integers(2**31)))

    def validation_plans(self) -> list[EpisodePlan]:
        """Fixed start states that training is unlikely to meet."""
        return [EpisodePlan(2**31 + index) for index in range(self.config.validation_episodes)]


def normalized(env: Env) -> Env:
    """Observations within [-1, 1], where the task says its bounds.

    An untrained network hardly sees a number that stays below 0.07 all its life, as the speed of
    the mountain car does; then all of a population act alike, and evolution has nothing to choose.
    """
    space = env.observation_space
    assert isinstance(space, gymnasium.spaces.Box)
    if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        return env
    return gymnasium.wrappers.RescaleObservation(env, np.float32(-1.0), np.float32(1.0))


def make_task(config: Config) -> Task:
    """The trading task, or the Gymnasium task that the configuration names."""
    return TradingTask(config) if config.env_id is None else GymTask(config)
