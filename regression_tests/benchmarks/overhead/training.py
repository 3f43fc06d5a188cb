"""One training of the reference trainer, watched, traced or left alone, that measures itself.

``python -m regression_tests.benchmarks.overhead.training guarded --generations 4 --folder F``
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import resource
import socket
import time
from array import array
from dataclasses import asdict, dataclass
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


_BEHIND = 0.03  # seconds: some turns on the core


@dataclass
class Training:
    """CPU seconds of each generation, and what the whole took.

    The first generation has all that comes before it, such as the guard's baseline; the last one
    the report. ``guard`` is (generation, CPU seconds in its snapshots, deepest tier), as it says.
    """

    cpu_seconds: list[float]
    system_seconds: float
    page_faults: int
    guard: list[tuple[int, float, int]]


@dataclass
class Partner:
    """The process on the same core: each generation of the two begins together.

    Or nearly so. The one that arrives last would always be a moment behind, and being behind may
    cost or save something: so they take turns, by even and odd generations.
    """

    line: socket.socket
    behind_when_odd: bool

    def begin(self, generation: int) -> None:
        """Return when the partner has come as far."""
        with contextlib.suppress(OSError):  # it has ended: whoever reads its result is told
            self.line.sendall(b".")
            self.line.recv(1)
        if bool(generation % 2) == self.behind_when_odd:
            time.sleep(_BEHIND)


def train(
    variant: str,
    size: str,
    generations: int,
    folder: Path,
    keep_freed: bool = True,
    partner: Partner | None = None,
) -> Training:
    """Train in this process, a fresh one; what is freed is kept, as the command does."""
    import torch

    from reference_trainer.allocator import keep_freed_memory
    from reference_trainer.config import Config
    from reference_trainer.trainer import ERLTrainer
    from reference_trainer.watching import make_guard

    torch.set_num_threads(1)
    if keep_freed:
        keep_freed_memory()
    # An array of its full length from the start: a list that grows would be a suspect itself.
    marks = array("d", bytes(8 * (generations + 1)))

    class Timed(ERLTrainer):
        def run_generation(self, generation: int) -> None:
            if partner is not None:
                partner.begin(generation)
            marks[generation - 1] = marks[generation - 1] or time.process_time()
            super().run_generation(generation)

    config = Config(
        generations=generations, out=folder, data_dir=folder / "data", progress=False,
        guard=variant == "guarded", checkpoint_every=10**6, plot_every=10**6, **SIZES[size],
    )  # fmt: skip
    with (folder / "log.txt").open("w", encoding="utf-8") as log, _tracer(variant, folder):
        trainer = Timed(config, log)
        # On a core that two share, wall time depends on what the other does.
        trainer.guard = make_guard(trainer, clock=time.process_time)
        if partner is not None:
            partner.begin(0)
        before = resource.getrusage(resource.RUSAGE_SELF)
        marks[0] = time.process_time()
        trainer.train()
        marks[generations] = time.process_time()
        after = resource.getrusage(resource.RUSAGE_SELF)
    return Training(
        [end - begin for begin, end in itertools.pairwise(marks)],
        after.ru_stime - before.ru_stime,
        after.ru_minflt - before.ru_minflt,
        _spent_by_guard(folder / "run.jsonl"),
    )


def _tracer(variant: str, folder: Path) -> contextlib.AbstractContextManager[object]:
    if variant == "memray":
        import memray

        return memray.Tracker(folder / "allocations.bin")
    if variant.startswith("tracemalloc"):
        import tracemalloc

        tracemalloc.start(int(variant.rpartition("-")[2]))
    return contextlib.nullcontext()


def _spent_by_guard(path: Path) -> list[tuple[int, float, int]]:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("variant", choices=VARIANTS)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--generations", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--give-back", action="store_true")
    parser.add_argument("--partner", type=int, help="descriptor of a socket to it")
    parser.add_argument("--behind-when-odd", action="store_true")
    options = parser.parse_args()
    partner = None
    if options.partner is not None:
        partner = Partner(socket.socket(fileno=options.partner), options.behind_when_odd)
    told = train(
        options.variant,
        options.size,
        options.generations,
        options.folder,
        not options.give_back,
        partner,
    )
    print(json.dumps(asdict(told)))


if __name__ == "__main__":
    main()
