"""What saving and loading a replay buffer costs in memory, beside pickle.

python -m regression_tests.benchmarks.trainer.saving --out reports/trainer/saving.md
"""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path

import click

from reference_trainer.checkpoint import CheckpointStore
from reference_trainer.config import Config
from reference_trainer.networks import mlp_architecture
from reference_trainer.population import Population
from reference_trainer.replay_buffer import ReplayBuffer
from reference_trainer.state_storage import VectorStates
from regression_tests.benchmarks.trainer.memory import cost

OBSERVATION, ACTION = 240, 6


@click.command()
@click.option("--buffer-mb", default=1000, show_default=True)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True)
def main(buffer_mb: int, out: Path) -> None:
    """Save a full buffer for the first time, again after 1 % more rows, and load it."""
    buffer = _full_buffer(buffer_mb * 1_000_000)
    config = Config(population_size=2, elite_fraction=0.1)
    population = Population(config, mlp_architecture(4, 2, (8,)))
    with tempfile.TemporaryDirectory() as folder:
        store = CheckpointStore(Path(folder), keep=2)
        state = {"settings": {}}
        first = cost(lambda: store.save(1, population, buffer, state))
        buffer.rows_written += buffer.rows // 100
        again = cost(lambda: store.save(2, population, buffer, state))
        path = store.latest()
        assert path is not None
        loaded = cost(lambda: store.load(path, population, buffer, lambda stored: None))
    pickled = cost(lambda: pickle.dumps(buffer.columns, protocol=4))
    rows = [
        ("first checkpoint", first),
        ("next one, 1 % of the rows new", again),
        ("loading it", loaded),
        ("pickle, protocol 4", pickled),
    ]
    lines = [f"A replay buffer of {buffer.nbytes / 1e6:,.0f} MB.", "",
             "| what | seconds | extra memory at the peak |", "|---|---|---|"]  # fmt: skip
    lines += [f"| {name} | {s:.1f} | {extra / 1e6:+.0f} MB |" for name, (s, extra) in rows]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n".join(lines) + "\n")
    click.echo(out.read_text())


def _full_buffer(nbytes: int) -> ReplayBuffer:
    rows = nbytes // (4 * (OBSERVATION + ACTION) + 9)
    buffer = ReplayBuffer(rows, VectorStates(rows, OBSERVATION, ACTION), rows, gamma=0.99)
    buffer.rows_written = buffer.transitions_written = rows
    return buffer


if __name__ == "__main__":
    main()
