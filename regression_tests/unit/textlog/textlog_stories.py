"""Logs as tests need them: runs printed as blocks, and what they should read back as."""

from __future__ import annotations

from leakguard.model import Run, Snapshot, Watched
from leakguard.render.log_block import snapshot_block

LEAK = {1: (8_520_000_000, 2), 2: (15_340_000_000, 18), 3: (22_670_000_000, 34)}


def moment(
    generation: int, rss: int, environments: int, phase: str = "evaluate_population"
) -> Snapshot:
    """Build a snapshot as a guard takes it after a phase."""
    return Snapshot(
        0,
        f"Gen {generation}: After {phase}",
        "phase",
        phase,
        generation,
        metrics={"rss": rss},
        watched={"__main__.TradingEnvironment": Watched(environments, (2, 2))},
    )


def baseline(rss: int = 4_230_000_000) -> Snapshot:
    """Build the snapshot before the first generation."""
    return Snapshot(0, "Trainer initialized (baseline)", "baseline", metrics={"rss": rss})


def leak_log(generations: dict[int, tuple[int, int]] = LEAK) -> str:
    """Print a run that leaks environments, generation by generation."""
    blocks = [snapshot_block(baseline())]
    for generation, (rss, environments) in generations.items():
        blocks.append(f"Generation {generation} / 25")
        blocks.append(snapshot_block(moment(generation, rss, environments)))
    return "\n".join(blocks) + "\n"


def series(run: Run) -> dict[int | None, tuple[int, int | None]]:
    """Return RSS and live environments by generation."""
    return {
        s.generation: (
            int(s.metrics["rss"]),
            s.watched["TradingEnvironment"].count if s.watched else None,
        )
        for s in run.snapshots
    }


LEAK_SERIES = {None: (4_230_000_000, None), **LEAK}
