"""Does the trained agent beat buy-and-hold out of sample? Only if there is something to learn.

    python -m regression_tests.benchmarks.trainer.trading --out reports/trainer/trading.md

Each seed is a market of its own. The agent that was best on training days plays windows of the
validation days that do not overlap, without noise; buy-and-hold plays the same windows at the
same costs. "Beats" is a paired one-sided t-test of the difference of log returns, window by
window, at the 5 % level: a lucky concentrated portfolio is not skill.
"""

from __future__ import annotations

import io
import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch

from reference_trainer.__main__ import parse_setting
from reference_trainer.baselines import equal_weight, free_hands, play
from reference_trainer.config import Config
from reference_trainer.environment import TradingEnvironment
from reference_trainer.rollout import play_episode
from reference_trainer.task import TradingTask
from reference_trainer.trainer import ERLTrainer

LEVEL = 0.05
SETTINGS: dict[str, Any] = {
    "days": 2000,
    "stocks": 30,
    "validation_days": 760,
    "network": "per_asset",
    "hidden": (16, 16),
    "max_positions": 8,
    "reward": "excess",
    "generations": 16,
    "gradient_steps": 24,
    "accumulation_steps": 1,
    "buffer_capacity": 10_000,
    "gamma": 0.9,
}


@dataclass(frozen=True)
class Trial:
    """One market: mean log returns a window of both, and the paired test of their difference."""

    signal_strength: float
    seed: int
    windows: int
    agent: float
    hold: float
    difference: float
    t: float
    p: float

    @property
    def beats(self) -> bool:
        """Whether the agent was better than luck explains."""
        return self.p < LEVEL


@click.command()
@click.option("--seeds", default="0,1,2", show_default=True)
@click.option("--signals", default="0,0.3", show_default=True)
@click.option("--set", "settings", multiple=True, metavar="FIELD=VALUE")
@click.option("--data-dir", type=click.Path(path_type=Path), default=None)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True)
def main(
    seeds: str, signals: str, settings: Sequence[str], data_dir: Path | None, out: Path
) -> None:
    """Train and test on every market; the table is written anew after each."""
    torch.set_num_threads(1)
    changed = {**SETTINGS, **dict(parse_setting(text) for text in settings)}
    changed["data_dir"] = data_dir or Path(tempfile.mkdtemp(prefix="market"))
    trials: list[Trial] = []
    out.parent.mkdir(parents=True, exist_ok=True)
    for signal_strength in (float(part) for part in signals.split(",")):
        for seed in (int(part) for part in seeds.split(",")):
            trials.append(trial(signal_strength, seed, changed))
            click.echo(str(trials[-1]))
            out.write_text(_table(trials, changed))


def trial(signal_strength: float, seed: int, settings: dict[str, Any]) -> Trial:
    """Train on one market and test out of sample."""
    config = Config(
        **settings, signal_strength=signal_strength, seed=seed, progress=False,
        checkpoint_every=10**6, plot_every=10**6, out=Path(tempfile.mkdtemp(prefix="trading")),
    )  # fmt: skip
    trainer = ERLTrainer(config, log=io.StringIO())
    trainer.train()
    task, env = trainer.task, trainer.task.val_env.unwrapped
    best = trainer.population.best.act
    assert isinstance(task, TradingTask)
    assert isinstance(env, TradingEnvironment)
    windows = disjoint_windows(task)
    agent = [_log_return(play_episode(env, best, options=w)) for w in windows]
    with free_hands(env):
        hold = [np.log1p(play(env, equal_weight, [w], hold=True).total_return) for w in windows]
    difference = np.array(agent) - np.array(hold)
    t = float(difference.mean() / (difference.std(ddof=1) / len(windows) ** 0.5))
    return Trial(
        signal_strength, seed, len(windows), float(np.mean(agent)), float(np.mean(hold)),
        float(difference.mean()), t, p_above(t, len(windows) - 1),
    )  # fmt: skip


def disjoint_windows(task: TradingTask) -> list[dict[str, Any]]:
    """As many episodes as fit into the validation days one after the other."""
    days, length = task.split.validation, task.config.episode_days
    return [task.window(start) for start in range(days.start, days.stop - 1 - length, length)]


def _log_return(stats: Any) -> float:
    return float(np.log1p(stats.summary.total_return))


def p_above(t: float, freedom: int) -> float:
    """Chance of a Student t this large or larger: its density integrated from 0 to |t|."""
    x = np.linspace(0.0, abs(t), 20_001)
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    density = scale / math.sqrt(freedom * math.pi) * (1 + x**2 / freedom) ** (-(freedom + 1) / 2)
    middle = float(np.trapezoid(density, x))
    return 0.5 - middle if t > 0 else 0.5 + middle


def _table(trials: Sequence[Trial], settings: dict[str, Any]) -> str:
    shown = {name: value for name, value in settings.items() if name != "data_dir"}
    lines = [
        "Best agent of the training days against buy-and-hold on validation windows that do not "
        "overlap, same costs. Mean log return a window; p of a paired one-sided t-test.",
        "",
        f"Settings: {shown}",
        "",
        "| signal strength | seed | windows | agent | buy and hold | difference | t | p | "
        f"beats (p < {LEVEL}) |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {t.signal_strength:g} | {t.seed} | {t.windows} | {100 * t.agent:+.2f} % | "
        f"{100 * t.hold:+.2f} % | {100 * t.difference:+.2f} % | {t.t:+.2f} | {t.p:.4f} | "
        f"{'yes' if t.beats else 'no'} |"
        for t in trials
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
