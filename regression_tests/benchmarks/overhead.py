"""CPU time of the reference trainer, watched and traced, against the same loop left alone.

``python -m regression_tests.benchmarks.overhead -o reports/overhead`` trains under the default
guard, memray, tracemalloc with one frame and with ten. Beside each, at the same time on the same
core, the same loop trains alone with the same data and seed; they take turns every few
milliseconds, so whatever slows the machine slows both. In both the C allocator keeps what is freed
and takes large pages: as it is, chance decides how often it gives memory back, 200,000 to 400,000
page faults a generation, and that moves two equal runs apart by one or two percent. CPU time is
compared, not wall time. What this leaves of noise is told by the loop alone beside itself.

The default guard looks at the first eight generations in depth whatever that costs, so the ratio
depends on how long a generation is: ``--size full`` trains at the sizes of the original trainer,
where one takes three times as long as the seconds of ``small``.
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
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from regression_tests.benchmarks.trainer.full_size import SETTINGS

SIZES: dict[str, dict[str, Any]] = {
    "small": {"hidden": (256, 256), "batch_size": 256},
    "full": SETTINGS,
}
ALONE = "unguarded"
VARIANTS = {
    "guarded": "leakguard, default guard",
    ALONE: "nothing: the loop alone, twice",
    "memray": "memray, default tracker",
    "tracemalloc-1": "tracemalloc, 1 frame",
    "tracemalloc-10": "tracemalloc, 10 frames",
}
# Every generation of the guard counts; of a tracer a few are as good as forty.
_TRACED_GENERATIONS = 4
_TRACERS = ("memray", "tracemalloc-1", "tracemalloc-10")
_SEVERAL = 2
_ALLOCATOR = ":".join(
    f"glibc.malloc.{name}={value}"
    for name, value in (("mmap_threshold", 1 << 25), ("trim_threshold", 1 << 34), ("hugetlb", 1))
)


def train(variant: str, size: str, generations: int, folder: Path) -> dict[str, object]:
    """Train in this process; return the CPU seconds of each generation and what the guard spent.

    The first one has all that comes before it, such as the guard's baseline; the last one the
    report.
    """
    import torch

    from reference_trainer.config import Config
    from reference_trainer.trainer import ERLTrainer

    torch.set_num_threads(1)
    # An array of its full length from the start: a list that grows would be a suspect itself.
    marks = array("d", bytes(8 * (generations + 1)))

    class Timed(ERLTrainer):
        def run_generation(self, generation: int) -> None:
            marks[generation - 1] = marks[generation - 1] or time.process_time()
            super().run_generation(generation)

    config = Config(
        generations=generations, out=folder, data_dir=folder / "data", progress=False,
        guard=variant == "guarded", checkpoint_every=10**6, plot_every=10**6, **SIZES[size],
    )  # fmt: skip
    with (folder / "log.txt").open("w", encoding="utf-8") as log, _tracer(variant, folder):
        trainer = Timed(config, log)
        marks[0] = time.process_time()
        trainer.train()
        marks[generations] = time.process_time()
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


@dataclass
class Pairs:
    """CPU seconds of each generation, watched and alone, of all pairs, and what the guard did."""

    own: list[list[float]] = field(default_factory=list)
    alone: list[list[float]] = field(default_factory=list)
    guard: list[list[tuple[int, float, int]]] = field(default_factory=list)

    def ratio(self, chosen: list[list[int]] | None = None) -> float:
        """Return the ratio of the totals over all generations, or those ``chosen`` of each pair."""
        rows = chosen or [list(range(len(own))) for own in self.own]
        own, alone = (
            sum(pair[n] for pair, row in zip(pairs, rows, strict=True) for n in row)
            for pairs in (self.own, self.alone)
        )
        return own / alone


def measure(variant: str, size: str, generations: int, rounds: int) -> Pairs:
    """Train the variant beside the trainer alone, one such pair on each of two cores at a time."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    pairs = Pairs()
    for _ in range(rounds):
        with ThreadPoolExecutor(2 * len(cores)) as pool:
            begun = [
                [
                    pool.submit(_train_apart, one, size, generations, core)
                    for one in (variant, ALONE)
                ]
                for core in cores
            ]
        for own, alone in begun:
            pairs.own.append(own.result()["cpu_seconds"])
            pairs.alone.append(alone.result()["cpu_seconds"])
            pairs.guard.append(own.result()["guard"])
    return pairs


def _train_apart(variant: str, size: str, generations: int, core: int) -> dict[str, list]:
    """Train in a fresh process that is bound to a core."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["taskset", "--cpu-list", str(core), sys.executable, "-m", __spec__.name,
                   "--train", variant, "--size", size, "--generations", str(generations),
                   "--folder", folder]  # fmt: skip
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLIBC_TUNABLES": _ALLOCATOR}
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout.splitlines()[-1])


def table(told: dict[str, Pairs]) -> str:
    """Return what was measured in Markdown."""
    lines = [
        "| beside the loop alone | generations | CPU s a generation (median) | alone "
        "| ratio of totals | each pair |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for variant, pairs in told.items():
        own, alone = (list(itertools.chain(*one)) for one in (pairs.own, pairs.alone))
        ratios = [sum(a) / sum(b) for a, b in zip(pairs.own, pairs.alone, strict=True)]
        lines.append(
            f"| {VARIANTS[variant]} | {len(own)} | {statistics.median(own):.2f} "
            f"| {statistics.median(alone):.2f} | {_with_error(ratios)} "
            f"| {', '.join(f'{ratio:.3f}' for ratio in ratios)} |"
        )
    if "guarded" in told:
        lines += ["", *_by_tier(told["guarded"]), "", *_by_generation(told["guarded"])]
    return "\n".join(lines)


def _with_error(ratios: Sequence[float]) -> str:
    """Return the mean with its standard error, where there are several."""
    if len(ratios) < _SEVERAL:
        return f"{ratios[0]:.3f}"
    error = statistics.stdev(ratios) / len(ratios) ** 0.5
    return f"{statistics.mean(ratios):.3f} ± {error:.3f}"


def _by_tier(pairs: Pairs) -> list[str]:
    """Return the ratio in generations that were looked at in depth, and in the others."""
    lines = ["| what the guard did | generations | ratio of totals |", "|---|---:|---:|"]
    for title, wanted in (
        ("phase boundaries only (tier 0)", {0}),
        ("a census, and who holds what (tiers 1 and 2)", {1, 2}),
        ("traced the generation (tier 3)", {3}),
    ):
        chosen = [
            [number - 1 for number, _, tier in guard if tier in wanted] for guard in pairs.guard
        ]
        if any(chosen):
            lines.append(f"| {title} | {sum(map(len, chosen))} | {pairs.ratio(chosen):.3f} |")
    return lines


def _by_generation(pairs: Pairs) -> list[str]:
    """Return the guard's cost by generation, the first pair: looks cost, boundaries hardly do."""
    spent = {number: (seconds, tier) for number, seconds, tier in pairs.guard[0]}
    lines = [
        "| generation | alone, CPU s | guarded, CPU s | spent by the guard, wall s | tier |",
        "|---:|---:|---:|---:|---:|",
    ]
    for number, (before, after) in enumerate(zip(pairs.alone[0], pairs.own[0], strict=True), 1):
        seconds, tier = spent.get(number, (float("nan"), 0))
        lines.append(f"| {number} | {before:.2f} | {after:.2f} | {seconds:.3f} | {tier} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generations", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=1, help="of two pairs each")
    parser.add_argument("-o", "--out", type=Path, help="folder; keeps what it has of the others")
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--variant", choices=VARIANTS, action="append", help="all unless given")
    parser.add_argument("--train", choices=VARIANTS, help="in this process, once")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if options.train:
        told = train(options.train, options.size, options.generations, options.folder)
        print(json.dumps(told))
        return
    told = {}
    for variant in options.variant or VARIANTS:
        count = _TRACED_GENERATIONS if variant in _TRACERS else options.generations
        told[variant] = measure(variant, options.size, count, options.rounds)
        print(variant, f"x{told[variant].ratio():.3f}", file=sys.stderr, flush=True)
    if options.out:
        told = _kept(options.out / f"{options.size}.json") | told
        _write(options.out, options.size, told)
    print(table(told))


def _kept(path: Path) -> dict[str, Pairs]:
    """Return what was measured before: the variants may be measured one by one."""
    if not path.exists():
        return {}
    return {name: Pairs(**pairs) for name, pairs in json.loads(path.read_text("utf-8")).items()}


def _write(folder: Path, size: str, told: dict[str, Pairs]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{size}.md").write_text(table(told) + "\n", encoding="utf-8")
    measured = json.dumps({name: asdict(pairs) for name, pairs in told.items()}, indent=1)
    (folder / f"{size}.json").write_text(measured, encoding="utf-8")


if __name__ == "__main__":
    main()
