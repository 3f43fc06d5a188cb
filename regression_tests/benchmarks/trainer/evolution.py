"""Memory of one evolutionary step: in place, and by cloning the population and swapping.

python -m regression_tests.benchmarks.trainer.evolution --out reports/trainer/evolution.md
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import click
import numpy as np
import torch

from reference_trainer.ddpg import AgentStack
from reference_trainer.evolution import EvolutionRules, evolve
from reference_trainer.networks import mlp_architecture
from regression_tests.benchmarks.trainer.memory import cost, status

AGENTS, GENERATIONS = 16, 5


@click.command()
@click.option("--width", default=512, show_default=True)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True)
def main(width: int, out: Path) -> None:
    """Evolve a population several times, each way."""
    torch.set_num_threads(1)
    stack = AgentStack.create(
        mlp_architecture(24, 6, (width, width)), AGENTS,
        tau=0.005, actor_lr=1e-4, critic_lr=1e-3, generator=torch.Generator().manual_seed(0),
    )  # fmt: skip
    size = sum(network.nbytes for network in stack.networks)
    in_place = _measured(lambda seed: _evolve(stack, seed))
    singles = [[stack.view(row, row + 1).copy() for row in range(AGENTS)]]

    def clone_and_swap(seed: int) -> None:
        singles[0] = [single.copy() for single in singles[0]]

    swapped = _measured(clone_and_swap)
    lines = [
        f"{AGENTS} agents of {width}x{width} with targets, gradients and Adam moments: "
        f"{size / 1e6:.0f} MB; {GENERATIONS} generations.",
        "",
        "| way | peak above the population | in the first step, which loads code "
        "| anonymous memory kept after it |",
        "|---|---|---|---|",
        _row("in place", in_place, size),
        _row("clone and swap", swapped, size),
    ]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n".join(lines) + "\n")
    click.echo(out.read_text())


def _measured(step: Callable[[int], None]) -> tuple[int, int, int]:
    first = cost(partial(step, GENERATIONS))[1]
    before = status("RssAnon")
    peak = max(cost(partial(step, seed))[1] for seed in range(GENERATIONS))
    return peak, first, status("RssAnon") - before


def _evolve(stack: AgentStack, seed: int) -> None:
    evolve(stack, list(range(AGENTS)), EvolutionRules(), np.random.default_rng(seed))


def _row(name: str, measured: tuple[int, int, int], size: int) -> str:
    peak, first, kept = (f"{bytes_ / 1e6:+.1f} MB" for bytes_ in measured)
    return f"| {name} | {peak} (x{1 + measured[0] / size:.2f}) | {first} | {kept} |"


if __name__ == "__main__":
    main()
