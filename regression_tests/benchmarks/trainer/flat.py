"""Fifty generations: live bytes, live objects, and the time of a generation.

    python -m regression_tests.benchmarks.trainer.flat --out reports/trainer/flat.md

Live bytes are what the C allocator and Python's pools have in use at the end of a generation;
the guard that reads them is the one that a user gets.
"""

from __future__ import annotations

import io
import tempfile
import time
from pathlib import Path
from typing import Any

import click
import numpy as np

from leakguard import diagnose
from leakguard.model.snapshot import Snapshot
from reference_trainer.__main__ import _setting
from reference_trainer.config import Config
from reference_trainer.trainer import ERLTrainer

FIRST = 3
ALLOWED = 2_000_000


@click.command()
@click.option("--generations", default=50, show_default=True)
@click.option("--set", "settings", multiple=True, metavar="FIELD=VALUE")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True)
def main(generations: int, settings: tuple[str, ...], out: Path) -> None:
    """Train with the defaults, watched, and write what stayed flat."""
    changed = dict(_setting(text) for text in settings)
    config = Config(
        generations=generations, progress=False, data_dir=Path(tempfile.mkdtemp(prefix="market")),
        out=Path(tempfile.mkdtemp(prefix="flat")), **changed,
    )  # fmt: skip
    trainer = ERLTrainer(config, log=io.StringIO())
    seconds = _timed(trainer)
    trainer.train()
    ends = [s for s in trainer.guard.run.snapshots if s.moment == "generation"]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(_text(trainer, ends, seconds, changed))
    click.echo(out.read_text())


def live_bytes(snapshot: Snapshot) -> int:
    """Bytes in use in the C allocator and in Python's pools."""
    return int(snapshot.metrics["heap_in_use"] + snapshot.metrics["python_in_use"])


def _timed(trainer: ERLTrainer) -> list[float]:
    """CPU seconds of every generation to come, the guard's own work between them left out."""
    run_generation, seconds = trainer.run_generation, list[float]()

    def timed(generation: int) -> None:
        began = time.process_time()
        run_generation(generation)
        seconds.append(time.process_time() - began)

    trainer.run_generation = timed  # type: ignore[method-assign]
    return seconds


def _text(
    trainer: ERLTrainer, ends: list[Snapshot], seconds: list[float], changed: dict[str, Any]
) -> str:
    live = np.array([live_bytes(snapshot) for snapshot in ends[FIRST - 1 :]])
    counts = {tuple(sorted((n, w.count) for n, w in s.watched.items())) for s in ends}
    drift = live - live[0]
    verdict = diagnose(trainer.guard.run).verdict
    times = np.array(seconds)
    early, late = np.median(times[FIRST : FIRST + 15]), np.median(times[-15:])
    anonymous = [int(s.metrics["rss_anonymous"]) for s in ends]
    lines = [
        f"{len(ends)} generations, watched by leakguard. Changed settings: {changed or 'none'}",
        "",
        "| what | measured |",
        "|---|---|",
        f"| live bytes after generation {FIRST} | {live[0] / 1e6:.2f} MB |",
        f"| largest distance from it, later generations | {np.abs(drift).max() / 1e6:.3f} MB "
        f"(allowed {ALLOWED / 1e6:g}) |",
        f"| live bytes at the end, against generation {FIRST} | {drift[-1] / 1e6:+.3f} MB |",
        f"| anonymous resident memory, generation {FIRST} and last | "
        f"{anonymous[FIRST - 1] / 1e6:.1f} and {anonymous[-1] / 1e6:.1f} MB |",
        f"| live objects | {' or '.join(_counted(c) for c in sorted(counts))} |",
        f"| median generation, {FIRST + 1}th to {FIRST + 15}th and last 15 | {early:.3f} and "
        f"{late:.3f} CPU s: x{late / early:.2f} |",
        f"| verdict of leakguard | {verdict} |",
    ]
    return "\n".join(lines) + "\n"


def _counted(counts: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{count} {name.rpartition('.')[2]}" for name, count in counts)


if __name__ == "__main__":
    main()
