"""The reference trainer, watched, traced or left alone, with its times taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regression_tests.benchmarks.overhead.stopwatch import Measured, Stopwatch
from regression_tests.benchmarks.overhead.variants import WATCHED, tracer
from regression_tests.benchmarks.trainer.full_size import SETTINGS

SIZES: dict[str, dict[str, Any]] = {
    "small": {"hidden": (256, 256), "batch_size": 256},
    "full": SETTINGS,
}


def train(
    variant: str, size: str, generations: int, folder: Path, stopwatch: Stopwatch, keep: bool
) -> Measured:
    """Train in this process, a fresh one; ``keep`` what is freed, as the command does."""
    import torch

    from reference_trainer.allocator import keep_freed_memory
    from reference_trainer.config import Config
    from reference_trainer.trainer import ERLTrainer
    from reference_trainer.watching import Watching, warm_up

    torch.set_num_threads(1)

    class Timed(ERLTrainer):
        def run_generation(self, generation: int) -> None:
            stopwatch.begin(generation)
            super().run_generation(generation)

    config = Config(
        generations=generations, out=folder, data_dir=folder / "data", progress=False,
        checkpoint_every=10**6, plot_every=10**6, **SIZES[size],
    )  # fmt: skip
    with (folder / "log.txt").open("w", encoding="utf-8") as log, tracer(variant, folder):
        guarded = Watching() if variant in WATCHED else None
        trainer = Timed(config, log, guarded)
        if keep:
            keep_freed_memory(trainer.population.gradient_bytes)
        stopwatch.start()
        if guarded is None:  # a training that is watched does the same as it begins
            warm_up(trainer)
        trainer.train()
        return stopwatch.stop(folder / "run.jsonl")
