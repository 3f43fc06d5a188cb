"""Frees what each leak of the reference trainer holds and compares it with what was told.

Each leak trains in a process of its own; then the containers that the report names are found by
that name and emptied. What that releases is read from tracemalloc or, for memory of torch, which
it does not see, from the C allocator, beneath which PYTHONMALLOC=malloc puts all of Python.

    python regression_tests/benchmarks/heap/release_leaks.py
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LEAKS = (
    "env-per-episode", "old-population", "best-agent-history", "episode-history", "episode-stats",
    "loss-graph", "loss-history", "batch-tensors", "figures", "upload-backlog",
)  # fmt: skip
# The allocator's number contains tracemalloc's own tables, several times what small objects take.
_TRACED = 0.1
STEP = re.compile(r"\.(\w+)|\[\*\]|\['([^']*)'\]|\[(\d+)\]")


def train(leak: str, out: Path) -> Any:
    """Return who watched a trainer for six small generations with a leak; it keeps the trainer."""
    from reference_trainer.config import Config
    from reference_trainer.hooks import HookChain
    from reference_trainer.leaks import planted
    from reference_trainer.trainer import ERLTrainer
    from reference_trainer.watching import Watching

    config = Config(
        out=out, generations=6, days=200, stocks=6,
        context_days=20, trading_days=8, settlement_days=3, validation_days=40, hidden=(16, 16),
        batch_size=16, gradient_steps=8, accumulation_steps=2, buffer_capacity=2_000,
        buffer_ready=100, plot_every=1, progress=False,
    )  # fmt: skip
    watching = Watching()
    hooks = HookChain([watching, *planted([leak], 8_000_000)])
    trainer = ERLTrainer(config, log=open(os.devnull, "w"), hooks=hooks)  # noqa: SIM115
    trainer.train()
    return watching


def objects_at(path: str) -> list[Any]:
    """Return the objects that a stable name stands for: from a module, or from any instance."""
    parts = path.split(".")
    for length in range(len(parts) - 1, 0, -1):
        module = sys.modules.get(".".join(parts[:length]))
        if module is not None:
            return follow([module], "." + ".".join(parts[length:]))
    raise LookupError(f"no module leads to {path}")


def follow(found: list[Any], steps: str) -> list[Any]:
    """Return what the steps of a stable name lead to from some objects."""
    position = 0
    while position < len(steps):
        step = STEP.match(steps, position)
        if step is None:
            raise LookupError(f"cannot follow {steps[position:]}")
        found = [below for item in found for below in _one_step(item, step)]
        position = step.end()
    return found


def _one_step(item: Any, step: re.Match[str]) -> Iterator[Any]:
    name, key, index = step.groups()
    if name is not None:
        if type(item) is type and name not in vars(item):
            instances = [i for i in gc.get_objects() if type(i) is item]
            yield from (getattr(instance, name) for instance in instances)
        else:
            yield getattr(item, name)
    elif key is not None:
        yield item[key]
    elif index is not None:
        yield item[int(index)]
    else:
        yield from item.values() if isinstance(item, dict) else item


def release(held_by: str) -> int:
    """Empty what a finding names; return the bytes that come back."""
    from leakguard.capture.allocator import allocator_memory

    containers = objects_at(held_by.removesuffix("[*]"))
    gc.collect()
    traced, in_use = tracemalloc.get_traced_memory()[0], allocator_memory()["heap_in_use"]
    for container in containers:
        container.clear()
    gc.collect()
    traced -= tracemalloc.get_traced_memory()[0]
    in_use -= allocator_memory()["heap_in_use"]
    return int(traced if _TRACED * in_use < traced else in_use)


def tell(leak: str) -> None:
    """Print, as JSON, each finding's holder, the bytes told and the bytes released."""
    tracemalloc.start()
    with tempfile.TemporaryDirectory() as folder:
        watching = train(leak, Path(folder))
        findings = watching.guard.report().findings
        rows = [
            (f.held_by, f.created_at, f.retained_bytes, release(f.held_by))
            for f in findings
            if f.held_by is not None
        ]
    print(json.dumps(rows))


def main() -> int:
    """Print one line a finding; exit 1 if one is more than 10 % off, or a leak has no holder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("leaks", nargs="*", default=LEAKS)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        tell(*arguments.leaks)
        return 0
    wrong = 0
    print(f"{'leak':20}{'told MB':>9}{'released MB':>13}{'ratio':>7}  held by, made at")
    for leak in arguments.leaks:
        done = subprocess.run(
            [sys.executable, __file__, "--one", leak],
            env={**os.environ, "PYTHONMALLOC": "malloc", "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        rows = json.loads(done.stdout.splitlines()[-1])
        wrong += not rows
        for held_by, created_at, told, freed in rows or [("nothing", None, 0, 0)]:
            ratio = told / freed if freed else float("nan")
            wrong += not 0.9 <= ratio <= 1.1
            print(f"{leak:20}{told / 1e6:9.2f}{freed / 1e6:13.2f}{ratio:7.3f}  {held_by}"
                  f", {created_at or 'not known where'}", flush=True)  # fmt: skip
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
