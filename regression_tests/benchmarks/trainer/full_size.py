"""Sixteen agents on the full panel of 3781 x 669 x 9, with its episodes of 145 steps.

python -m regression_tests.benchmarks.trainer.full_size --out reports/trainer/full_size.md
"""

from __future__ import annotations

import io
import tempfile
import time
import timeit
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch

from reference_trainer.__main__ import parse_setting
from reference_trainer.config import Config
from reference_trainer.networks import parameter_count
from reference_trainer.trainer import ERLTrainer
from regression_tests.benchmarks.trainer.memory import reset_peak, status

#: The sizes of the original, except for its networks of 45 million parameters.
SETTINGS: dict[str, Any] = {
    "days": 3781,
    "stocks": 669,
    "context_days": 504,
    "trading_days": 125,
    "settlement_days": 20,
    "validation_days": 504,
    "buffer_capacity": 50_000,
    "buffer_ready": 2_000,
    "hidden": (64, 64),
}
#: Bytes that are summed up to see what memory gives, and how often.
LARGE, ROUNDS = 1 << 28, 5


@click.command()
@click.option("--generations", default=4, show_default=True)
@click.option("--data-dir", type=click.Path(path_type=Path), default=Path("data"))
@click.option("--set", "settings", multiple=True, metavar="FIELD=VALUE")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True)
def main(generations: int, data_dir: Path, settings: tuple[str, ...], out: Path) -> None:
    """Run a few generations phase by phase and write what they cost."""
    changed = {**SETTINGS, **dict(parse_setting(text) for text in settings)}
    config = Config(
        **changed, generations=generations, data_dir=data_dir, progress=False,
        out=Path(tempfile.mkdtemp(prefix="full-size")),
    )  # fmt: skip
    before = status("RssAnon")
    began = time.perf_counter()
    trainer = ERLTrainer(config, log=io.StringIO())
    opening = time.perf_counter() - began
    reset_peak()
    phases = [_generation(trainer, number + 1) for number in range(generations)]
    peak = status("VmHWM")  # before memory is tried
    steps = trainer.transitions / sum(p["evaluate"] for p in phases)
    read, rate = _read_a_step(trainer), _bytes_a_second()
    lines = [
        f"{config.days} days x {config.stocks} stocks, {config.population_size} agents of "
        f"{config.hidden}, {generations} generations, buffer of {config.buffer_capacity:,} "
        f"({trainer.buffer.bytes_per_transition:.0f} B a transition).",
        "",
        "| what | measured |",
        "|---|---|",
        f"| opening market, population and buffer | {opening:.1f} s |",
        f"| environment steps per second while evaluating | {steps:,.0f} |",
        f"| what memory allows, {read / 1e6:.1f} MB of actor and market a step at "
        f"{rate / 1e9:.0f} GB/s | {rate / read:,.0f}, reached {steps * read / rate:.0%} |",
        *(f"| {name}, median of generations that train | {_median(phases, name):.2f} s |"
          for name in ("evaluate", "train", "evolve", "checkpoint", "generation")),
        f"| peak RSS | {peak / 1e6:,.0f} MB, of it panel and other files "
        f"{status('RssFile') / 1e6:,.0f} MB now |",
        f"| anonymous memory, before the trainer and now | {before / 1e6:,.0f} and "
        f"{status('RssAnon') / 1e6:,.0f} MB |",
    ]  # fmt: skip
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n".join(lines) + "\n")
    click.echo(out.read_text())


def _read_a_step(trainer: ERLTrainer) -> int:
    """Bytes that a step cannot do without: an actor's weights, and the market of a day, twice.

    Each agent has weights of its own, so that playing several at once would read no less.
    """
    architecture = trainer.task.architecture
    weights = parameter_count(architecture.actor_sizes)
    return 4 * (weights + 2 * architecture.observation_size)


def _bytes_a_second() -> float:
    """What one thread reads from memory: the fastest sum over more than a cache holds."""
    large = torch.ones(LARGE // 4)
    return LARGE / min(timeit.repeat(large.sum, repeat=ROUNDS, number=1))


def _generation(trainer: ERLTrainer, number: int) -> dict[str, float]:
    """The seconds of each phase of one generation."""
    times = {"generation": time.perf_counter()}
    trainer.begin_generation(number)
    for name, phase in (
        ("evaluate", trainer.evaluate_population),
        ("train", trainer.train_population),
        ("evolve", trainer.evolve_population),
        ("validate", trainer.champion.validate),
        ("close", trainer.end_generation),
        ("checkpoint", trainer.save_checkpoint),
    ):
        began = time.perf_counter()
        phase()
        times[name] = time.perf_counter() - began
    times["generation"] = time.perf_counter() - times["generation"]
    return {**times, "updates": trainer.metrics.record["updates"]}


def _median(phases: list[dict[str, float]], name: str) -> float:
    return float(np.median([phase[name] for phase in phases if phase["updates"]]))


if __name__ == "__main__":
    main()
