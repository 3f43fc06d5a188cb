"""Trains with faults in the look, and compares what comes out with a training that nobody looks at.

Each training is a process of its own. Looks are taken in copies of it, and each of them crashes,
hangs, or has no memory. What is printed: a digest of all parameters, which is the same where they
are to the last bit, and the notes that the run has.

    python -m regression_tests.benchmarks.heap.look_faults
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ALONE, SOUND = "nobody looks", "no fault"
GENERATIONS = 14  # a loop of twelve is short: all its looks are taken in the process
_HANG = 3.0  # seconds that a copy is given: one that hangs is ended then
_SECONDS = 3600


def _crash() -> None:
    ctypes.string_at(0)


def _hang() -> None:
    while True:
        pass


def _no_memory() -> None:
    kept: list[bytes] = []
    while True:
        kept.append(bytes(1_000_000))


FAULTS: dict[str, Callable[[], None]] = {
    "crash": _crash,
    "hang": _hang,
    "no memory": _no_memory,
}


def train(fault: str) -> dict[str, Any]:
    """Return the digest of what was trained, and the notes of the run."""
    from reference_trainer.config import Config
    from reference_trainer.hooks import Hooks
    from reference_trainer.trainer import ERLTrainer
    from reference_trainer.watching import Watching

    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as log:
        config = Config(
            out=Path(folder), generations=GENERATIONS, days=120, stocks=4, context_days=10,
            trading_days=5, settlement_days=2, validation_days=30, hidden=(16, 16), batch_size=16,
            gradient_steps=4, accumulation_steps=2, buffer_capacity=1_000, buffer_ready=50,
            plot_every=1_000, progress=False,
        )  # fmt: skip
        hooks = Hooks()
        if fault != ALONE:
            _spoil(fault)
            hooks = Watching()
        trainer = ERLTrainer(config, log=log, hooks=hooks)
        trainer.train()
        notes = [] if fault == ALONE else _notes(hooks.guard)
    return {"digest": _digest(trainer), "notes": notes}


def _spoil(fault: str) -> None:
    """Let each look end its copy as the fault says."""
    import reference_trainer.watching as watching_module
    from leakguard.capture import heap
    from leakguard.capture.heap.process_copy import is_copy

    watching_module.LeakGuard = functools.partial(
        watching_module.LeakGuard, max_overhead=None, trace="off"
    )
    if fault == SOUND:
        return
    tally = heap.engine.tally

    def faulty(*args: Any) -> Any:
        if is_copy():
            FAULTS[fault]()
        return tally(*args)

    heap.engine.tally = faulty


def _notes(guard: Any) -> list[str]:
    snapshots = guard.run.snapshots
    looks = sum(snapshot.census is not None for snapshot in snapshots)
    told = {note for s in snapshots for probe, note in s.unavailable.items() if probe == "census"}
    return [f"{looks} looks", *sorted(told)]


def _digest(trainer: Any) -> str:
    stack = trainer.population.stack
    text = hashlib.sha256()
    for network in (stack.actor, stack.critic):
        for tensor in (network.values, network.target, network.exp_avg, network.exp_avg_sq):
            text.update(tensor.detach().numpy().tobytes())
    return text.hexdigest()[:16]


def main() -> int:
    """Print one line a training; exit 1 if one came out otherwise."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(train(arguments.one)))
        return 0
    print("| fault in each look | parameters | notes |\n|---|---|---|")
    digests = set()
    for fault in (ALONE, SOUND, *FAULTS):
        done = subprocess.run(
            [sys.executable, "-m", __spec__.name, "--one", fault],
            env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True,
            timeout=_SECONDS, check=True,
        )  # fmt: skip
        told = json.loads(done.stdout.splitlines()[-1])
        digests.add(told["digest"])
        print(f"| {fault} | {told['digest']} | {'; '.join(told['notes'])} |", flush=True)
    return 1 if len(digests) > 1 else 0


if __name__ == "__main__":
    sys.exit(main())
