"""CPU time of the reference trainer, watched and traced, against the same loop left alone.

``python -m regression_tests.benchmarks.overhead -o reports/overhead`` trains once unwatched, once
under the default guard, and once each under memray, tracemalloc with one frame and with ten. Each
variant has a process of its own, one after the other; CPU time is compared, not wall time, so that
other work on the machine matters less. The data, the seed and the loop are the same.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from array import array
from pathlib import Path

VARIANTS = {
    "unguarded": "the trainer alone",
    "guarded": "leakguard, default guard",
    "memray": "memray, default tracker",
    "tracemalloc-1": "tracemalloc, 1 frame",
    "tracemalloc-10": "tracemalloc, 10 frames",
}
# Every generation of the guard counts; of a tracer three are as good as twelve.
_TRACED_GENERATIONS = 3


def train(variant: str, generations: int, folder: Path) -> dict[str, object]:
    """Train in this process; return the CPU seconds of each generation and what the guard spent."""
    import torch

    from reference_trainer.config import Config
    from reference_trainer.trainer import ERLTrainer

    torch.set_num_threads(1)
    # An array of its full length from the start: a list that grows would be a suspect itself.
    marks = array("d", bytes(8 * (generations + 1)))
    ended = itertools.count()

    class Timed(ERLTrainer):
        def run_generation(self, generation: int) -> None:
            marks[next(ended)] = time.process_time()
            super().run_generation(generation)

    config = Config(
        generations=generations, out=folder, data_dir=folder / "data", progress=False,
        guard=variant == "guarded", hidden=(256, 256), batch_size=256, checkpoint_every=10**6,
        plot_every=10**6,
    )  # fmt: skip
    with (folder / "log.txt").open("w", encoding="utf-8") as log, _tracer(variant, folder):
        Timed(config, log).train()
        marks[next(ended)] = time.process_time()
    seconds = [after - before for before, after in itertools.pairwise(marks)]
    return {"cpu_seconds": seconds, "guard": _guard_cost(folder / "run.jsonl")}


def _tracer(variant: str, folder: Path) -> contextlib.AbstractContextManager[object]:
    if variant == "memray":
        import memray

        return memray.Tracker(folder / "allocations.bin")
    if variant.startswith("tracemalloc"):
        import tracemalloc

        tracemalloc.start(int(variant.rpartition("-")[2]))
    return contextlib.nullcontext()


def _guard_cost(path: Path) -> list[tuple[int, float, int]]:
    """Return (generation, seconds in its snapshots, deepest tier) as the guard itself says."""
    if not path.exists():
        return []
    from leakguard import load

    spent: dict[int, tuple[float, int]] = {}
    for snapshot in load(path).snapshots:
        if snapshot.generation is not None:
            seconds, tier = spent.get(snapshot.generation, (0.0, 0))
            cost = snapshot.cost
            spent[snapshot.generation] = seconds + cost.seconds, max(tier, cost.tier)
    return [(number, seconds, tier) for number, (seconds, tier) in spent.items()]


def measure(variant: str, generations: int) -> dict[str, object]:
    """Train in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", __spec__.name, "--variant", variant,
                   "--generations", str(generations), "--folder", folder]  # fmt: skip
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout.splitlines()[-1])


def table(told: dict[str, dict[str, list]]) -> str:
    """Return what was measured in Markdown."""
    alone = told["unguarded"]["cpu_seconds"]
    lines = [
        "| variant | generations | CPU s a generation (median) | ratio of medians | of totals |",
        "|---|---:|---:|---:|---:|",
    ]
    for variant, result in told.items():
        own = result["cpu_seconds"]
        beside = alone[: len(own)]
        lines.append(
            f"| {VARIANTS[variant]} | {len(own)} | {statistics.median(own):.2f} "
            f"| {statistics.median(own) / statistics.median(beside):.3f} "
            f"| {sum(own) / sum(beside):.3f} |"
        )
    return "\n".join((*lines, "", *_by_tier(told), "", *_by_generation(told)))


def _by_tier(told: dict[str, dict[str, list]]) -> list[str]:
    """Return the ratio in generations that were looked at in depth, and in the others."""
    alone, own = told["unguarded"]["cpu_seconds"], told["guarded"]["cpu_seconds"]
    tiers = {number: tier for number, _, tier in told["guarded"]["guard"]}
    lines = ["| what the guard did | generations | ratio of totals |", "|---|---:|---:|"]
    for title, wanted in (
        ("phase boundaries only (tier 0)", {0}),
        ("a census, and who holds what (tiers 1 and 2)", {1, 2}),
        ("traced the generation (tier 3)", {3}),
    ):
        chosen = [n for n in range(len(own)) if tiers.get(n + 1, 0) in wanted]
        if chosen:
            ratio = sum(own[n] for n in chosen) / sum(alone[n] for n in chosen)
            lines.append(f"| {title} | {len(chosen)} | {ratio:.3f} |")
    return lines


def _by_generation(told: dict[str, dict[str, list]]) -> list[str]:
    """Return the guard's cost generation by generation: deep looks cost, boundaries hardly do."""
    alone, own = told["unguarded"]["cpu_seconds"], told["guarded"]["cpu_seconds"]
    spent = {number: (seconds, tier) for number, seconds, tier in told["guarded"]["guard"]}
    lines = [
        "| generation | unguarded, CPU s | guarded, CPU s | spent by the guard, wall s | tier |",
        "|---:|---:|---:|---:|---:|",
    ]
    for number, (before, after) in enumerate(zip(alone, own, strict=True), 1):
        seconds, tier = spent.get(number, (float("nan"), 0))
        lines.append(f"| {number} | {before:.2f} | {after:.2f} | {seconds:.3f} | {tier} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generations", type=int, default=12)
    parser.add_argument("-o", "--out", type=Path)
    parser.add_argument("--variant", choices=VARIANTS)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if options.variant:
        print(json.dumps(train(options.variant, options.generations, options.folder)))
        return
    told = {}
    for variant in VARIANTS:
        watched = variant in ("unguarded", "guarded")
        count = options.generations if watched else _TRACED_GENERATIONS
        told[variant] = measure(variant, count)
        print(variant, f"{sum(told[variant]['cpu_seconds']):.1f} s", file=sys.stderr, flush=True)
    text = table(told)
    print(text)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "table.md").write_text(text + "\n", encoding="utf-8")
        (options.out / "measured.json").write_text(json.dumps(told, indent=1), encoding="utf-8")
        command = " ".join([Path(sys.executable).name, "-m", __spec__.name, *sys.argv[1:]])
        (options.out / "COMMAND").write_text(command + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
