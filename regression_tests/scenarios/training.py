"""Train 16 agents for a few generations on a small market, watched by leakguard.

Run as ``python training.py OUT DATA [LEAK...]``: a process of its own, since watched classes count
every instance of the process, and other tests have trainers too.
"""

from __future__ import annotations

import sys
from pathlib import Path

from reference_trainer.config import Config
from reference_trainer.hooks import HookChain
from reference_trainer.leaks import planted
from reference_trainer.trainer import ERLTrainer
from reference_trainer.watching import Watching


def main(out: Path, data: Path, leaks: list[str]) -> None:
    """Train into ``out``; what is printed goes to ``training.log`` beside the run."""
    config = Config(
        out=out,
        data_dir=data,
        generations=5,
        days=200,
        stocks=6,
        context_days=20,
        trading_days=8,
        settlement_days=3,
        validation_days=40,
        hidden=(16, 16),
        batch_size=16,
        gradient_steps=8,
        accumulation_steps=2,
        buffer_capacity=2_000,
        buffer_ready=100,
        plot_every=100,
        progress=False,
    )
    out.mkdir(parents=True, exist_ok=True)
    with (out / "training.log").open("w", encoding="utf-8") as log:
        ERLTrainer(config, log=log, hooks=HookChain([Watching(), *planted(leaks)])).train()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
