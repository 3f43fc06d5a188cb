"""What an agent has to beat: the strategies that anybody can follow, and one that nobody can."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from reference_trainer.environment import EpisodeSummary, TradingEnvironment

Strategy = Callable[[TradingEnvironment], np.ndarray]
RANDOM_RUNS = 20
MONTH, YEAR = 21, 252


@dataclass(frozen=True)
class Performance:
    """A strategy over several episodes: means of the summaries, and the first equity curve."""

    reward: float
    total_return: float
    sharpe: float
    max_drawdown: float
    turnover: float
    curve: np.ndarray


def baselines(
    env: TradingEnvironment, windows: Sequence[dict[str, Any]], seed: int
) -> dict[str, Performance]:
    """Play every baseline on the same windows, with the same costs.

    They may hold any number of positions; the environment's rules are put back afterwards.
    """
    rng = np.random.default_rng(seed)
    with free_hands(env):
        return {
            "cash": play(env, cash, windows),
            "buy and hold": play(env, equal_weight, windows, hold=True),
            "rebalanced": play(env, equal_weight, windows),
            "random": play(env, random_weights(rng), [*windows] * RANDOM_RUNS),
            "momentum": play(env, momentum, windows),
            "foresight": play(env, foresight, windows),
        }


def play(
    env: TradingEnvironment,
    strategy: Strategy,
    windows: Sequence[dict[str, Any]],
    *,
    hold: bool = False,
) -> Performance:
    """Follow a strategy's target weights; with `hold` only its first ones."""
    summaries, curves, rules = [], [], env.rules
    for window in windows:
        env.reset(options=window)
        env.rules = rules
        weights, over = strategy(env), False
        while not over:
            _, _, terminated, truncated, _ = env.step(2 * weights - 1)
            over = terminated or truncated
            if hold:
                # No order but a sale to zero is larger than the whole account.
                env.rules = dataclasses.replace(rules, no_trade_band=1.0)
            weights = _shares(env) if hold else strategy(env)
        summaries.append(env.summary())
        curves.append(env.equity_curve)
    env.rules = rules
    return performance(summaries, curves[0])


def performance(summaries: Sequence[EpisodeSummary], curve: np.ndarray) -> Performance:
    """The means of several episode summaries."""

    def mean(name: str) -> float:
        return float(np.mean([getattr(summary, name) for summary in summaries]))

    return Performance(
        mean("reward"),
        mean("total_return"),
        mean("sharpe"),
        mean("max_drawdown"),
        mean("turnover"),
        curve,
    )


def table(results: dict[str, Performance]) -> str:
    """The strategies side by side, one line each."""
    lines = [f"{'':<14}{'return':>9}{'Sharpe':>8}{'drawdown':>10}{'turnover':>10}"]
    lines += [
        f"{name:<14}{100 * p.total_return:>+8.2f}%{p.sharpe:>8.2f}"
        f"{100 * p.max_drawdown:>9.2f}%{p.turnover:>10.2f}"
        for name, p in results.items()
    ]
    return "\n".join(lines)


def cash(env: TradingEnvironment) -> np.ndarray:
    """Own nothing."""
    return np.zeros(env.stocks)


def equal_weight(env: TradingEnvironment) -> np.ndarray:
    """The same share of every stock that trades today."""
    listed = env.mask[env.day].astype(float)
    return listed / max(1.0, listed.sum())


def random_weights(rng: np.random.Generator) -> Strategy:
    """Fresh random weights every month."""
    kept: dict[str, np.ndarray] = {}

    def strategy(env: TradingEnvironment) -> np.ndarray:
        if env.progress[0] % MONTH == 0:
            kept["weights"] = rng.dirichlet(np.ones(env.stocks))
        return kept["weights"]

    return strategy


def momentum(env: TradingEnvironment) -> np.ndarray:
    """The decile that rose most from a year ago to a month ago, chosen once a month."""
    month = env.day - env.progress[0] % MONTH
    close = env.data_array[:, :, env.close_column]
    old, new = close[max(0, month - YEAR)], close[max(0, month - MONTH)]
    rise = np.where((old > 0) & env.mask[month], new / np.maximum(old, 1e-9), 0.0)
    count = max(1, env.stocks // 10)
    weights = np.zeros(env.stocks)
    weights[np.argsort(-rise, kind="stable")[:count]] = 1 / count
    return weights


def foresight(env: TradingEnvironment) -> np.ndarray:
    """All in the one stock that will rise most from the next open to the one after."""
    last = min(len(env.data_array), len(env.mask)) - 1
    fill, exit_ = min(env.day + 1, last), min(env.day + 2, last)
    bought = env.data_array[fill, :, env.open_column]
    sold = env.data_array[exit_, :, env.open_column]
    known = (bought > 0) & env.mask[fill] & env.mask[exit_]
    gain = np.where(known, sold / np.maximum(bought, 1e-9), 0.0)
    weights = np.zeros(env.stocks)
    best = int(gain.argmax())
    if gain[best] > 1 + 2 * env.rules.cost_rate:
        weights[best] = 1.0
    return weights


def _shares(env: TradingEnvironment) -> np.ndarray:
    return env.holdings / max(env.equity, 1e-9)


@contextmanager
def free_hands(env: TradingEnvironment) -> Iterator[None]:
    """Any number of positions and small orders, for as long as this lasts."""
    rules = env.rules
    env.rules = dataclasses.replace(rules, max_positions=env.stocks, no_trade_band=0.0005)
    try:
        yield
    finally:
        env.rules = rules
