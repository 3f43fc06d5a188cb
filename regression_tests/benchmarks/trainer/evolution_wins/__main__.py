"""Play the contest, as far as the minutes go, and write what is known.

    python -m regression_tests.benchmarks.trainer.evolution_wins --minutes 20

Each finished run is a line of `runs.jsonl` in the folder; runs that are there are not played
again, so the command goes on where it stopped, and several may play into one folder if they have
different tasks. Without minutes left it only writes the tables.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import torch

from reference_trainer.seeds import parse_seeds
from reference_trainer.workers import Workers
from regression_tests.benchmarks.trainer.evolution_wins import ours, table, theirs
from regression_tests.benchmarks.trainer.evolution_wins.contest import (
    METHODS,
    OURS,
    TASKS,
    Memory,
    Run,
)
from regression_tests.benchmarks.trainer.learning import DEFAULTS_CHOSEN_ON


@click.command()
@click.option("--task", "tasks", multiple=True, type=click.Choice(list(TASKS)), default=TASKS)
@click.option("--method", "methods", multiple=True, type=click.Choice(METHODS), default=METHODS)
@click.option("--seeds", default="0,1,2,3,4", show_default=True)
@click.option("--at-once", default=1, show_default=True, type=click.IntRange(min=1),
              help="Runs at once, each in a process of its own.")  # fmt: skip
@click.option("--minutes", default=0.0, show_default=True, help="Begin no run after these.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False),
              default=Path("reports/trainer/evolution_wins"), show_default=True)  # fmt: skip
def main(
    tasks: Sequence[str],
    methods: Sequence[str],
    seeds: str,
    at_once: int,
    minutes: float,
    out: Path,
) -> None:
    """Every method on every task and seed that the options name, seed by seed."""
    torch.set_num_threads(1)
    ends = time.monotonic() + 60 * minutes
    out.mkdir(parents=True, exist_ok=True)
    file = out / "runs.jsonl"
    missing = _missing(file, tasks, methods, parse_seeds(seeds))
    in_time = itertools.takewhile(lambda _: time.monotonic() < ends, missing)
    for (task, method, seed), played in Workers(_play, in_time, at_once):
        line = json.dumps(dataclasses.asdict(played))
        with file.open("a") as stream:
            stream.write(line + "\n")
        click.echo(f"{task}, {method}, seed {seed}: {played.score:.1f} in {played.cpu_s:.0f} CPU s")
    if runs := read(file):
        (out / "table.md").write_text(table.markdown(runs, DEFAULTS_CHOSEN_ON))
        table.curves(runs, out / "curves.svg")


def _play(wanted: tuple[str, str, int]) -> Run:
    task, method, seed = wanted
    return (ours if method in OURS else theirs).run(TASKS[task], method, seed)


def read(path: Path) -> list[Run]:
    """The runs that are finished; raises `UsageError` on a line that is none."""
    runs = []
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else (), 1):
        try:
            runs.append(_run(json.loads(line)))
        except (ValueError, TypeError, KeyError, AttributeError):
            raise click.UsageError(
                f"{path}, line {number}: not a finished run; without the line it is played again"
            ) from None
    return runs


def _run(values: dict[str, object]) -> Run:
    memory = values.pop("memory")
    run = Run(**values, memory=Memory(**memory) if isinstance(memory, dict) else None)  # type: ignore[arg-type]
    return dataclasses.replace(run, curve=[(steps, score) for steps, score in run.curve])


def _missing(
    file: Path, tasks: Sequence[str], methods: Sequence[str], seeds: Sequence[int]
) -> Iterator[tuple[str, str, int]]:
    for wanted in (
        (task, method, seed)
        for seed in seeds
        for task in tasks
        for method in methods
        if TASKS[task].has(method)
    ):
        # Asked each time: another process may have played it meanwhile.
        if wanted not in {(run.task, run.method, run.seed) for run in read(file)}:
            yield wanted


if __name__ == "__main__":
    main()
