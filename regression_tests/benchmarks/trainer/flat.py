"""Fifty generations: live bytes, live objects, and the time of a generation.

    python -m regression_tests.benchmarks.trainer.flat --out reports/trainer/flat.md

Live bytes are what the C allocator and Python's pools have in use when a generation is over. They
are read by the same functions that leakguard uses; without its walks of the heap, which would
take most of the time here.
"""

from __future__ import annotations

import gc
import io
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from leakguard.capture.allocator import allocator_memory, pool_memory
from reference_trainer.__main__ import parse_setting
from reference_trainer.agent import DDPGAgent
from reference_trainer.config import Config
from reference_trainer.environment import TradingEnvironment
from reference_trainer.replay_buffer import ReplayBuffer
from reference_trainer.trainer import ERLTrainer
from reference_trainer.watching import warm_up
from regression_tests.benchmarks.trainer.memory import status

FIRST = 3
ALLOWED = 2_000_000
WATCHED = (TradingEnvironment, DDPGAgent, ReplayBuffer)


class End(NamedTuple):
    """The end of a generation."""

    live: int
    anonymous: int
    counts: tuple[int, ...]
    cpu_s: float


@click.command()
@click.option("--generations", default=50, show_default=True)
@click.option("--set", "settings", multiple=True, metavar="FIELD=VALUE")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True)
def main(generations: int, settings: tuple[str, ...], out: Path) -> None:
    """Train and write what stayed flat."""
    changed = dict(parse_setting(text) for text in settings)
    config = Config(
        generations=generations, progress=False,
        data_dir=Path(tempfile.mkdtemp(prefix="market")),
        out=Path(tempfile.mkdtemp(prefix="flat")), **changed,
    )  # fmt: skip
    trainer = ERLTrainer(config, log=io.StringIO())
    warm_up(trainer)
    ends = [_end(trainer, number + 1) for number in range(generations)]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(_text(ends, changed))
    click.echo(out.read_text())


def _end(trainer: ERLTrainer, generation: int) -> End:
    began = time.process_time()
    trainer.run_generation(generation)
    cpu_s = time.process_time() - began
    gc.collect()
    found = Counter(type(thing) for thing in gc.get_objects())
    counts = tuple(found[kind] for kind in WATCHED)
    del found
    return End(_live_bytes(), status("RssAnon"), counts, cpu_s)


def _live_bytes() -> int:
    """Bytes in use in the C allocator and in Python's pools."""
    return int(allocator_memory()["heap_in_use"] + pool_memory()["python_in_use"])


def _text(ends: list[End], changed: dict[str, Any]) -> str:
    live = np.array([end.live for end in ends[FIRST - 1 :]])
    drift, cpu = live - live[0], np.array([end.cpu_s for end in ends])
    early, late = np.median(cpu[FIRST : FIRST + 15]), np.median(cpu[-15:])
    counts = sorted({end.counts for end in ends})
    lines = [
        f"{len(ends)} generations. Changed settings: {changed or 'none'}",
        "",
        "| what | measured |",
        "|---|---|",
        f"| live bytes after generation {FIRST} | {live[0] / 1e6:.2f} MB |",
        f"| largest distance from it, later generations | {np.abs(drift).max() / 1e6:.3f} MB "
        f"(allowed {ALLOWED / 1e6:g}) |",
        f"| live bytes at the end, against generation {FIRST} | {drift[-1] / 1e6:+.3f} MB |",
        f"| anonymous resident memory, generation {FIRST} and last | "
        f"{ends[FIRST - 1].anonymous / 1e6:.1f} and {ends[-1].anonymous / 1e6:.1f} MB |",
        f"| live objects | {' or '.join(_counted(found) for found in counts)} |",
        f"| median generation, {FIRST + 1}th to {FIRST + 15}th and last 15 | {early:.3f} and "
        f"{late:.3f} CPU s: x{late / early:.2f} |",
    ]
    return "\n".join(lines) + "\n"


def _counted(counts: tuple[int, ...]) -> str:
    return ", ".join(f"{n} {kind.__name__}" for n, kind in zip(counts, WATCHED, strict=True))


if __name__ == "__main__":
    main()
