"""Proves each leak of the reference trainer by cutting it in a copy, then really cuts it.

Each leak trains in a process of its own for six small generations, with ``prove=True``. What
a finding names as its holder is then emptied in the process itself, and what the allocators have in
use (C allocator and Python's pools) is read before and after. Errors are those of the proof against
that release.

    python regression_tests/benchmarks/heap/prove_leaks.py
"""

from __future__ import annotations

import argparse
import functools
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from release_leaks import LEAKS, objects_at, train

_SECONDS = 900


def tell(leak: str) -> None:
    """Print, as JSON, each finding's holder, the bytes told, proven and released, or why not."""
    import reference_trainer.watching as watching_module

    watching_module.LeakGuard = functools.partial(watching_module.LeakGuard, prove=True)
    with tempfile.TemporaryDirectory() as folder:
        watching = train(leak, Path(folder))
        findings = watching.guard.report().findings
        proofs = {f.held_by: f.proof for f in findings if f.proof is not None}
        rows = [
            (held_by, proof.told, proof.released, released(held_by), proof.refused)
            for held_by, proof in proofs.items()
        ]
    print(json.dumps(rows))


def released(held_by: str) -> int:
    """Empty what a finding names, here; return what the allocators have less in use."""
    containers = objects_at(held_by.removesuffix("[*]"))
    gc.collect()
    before = _in_use()
    for container in containers:
        container.clear()
    gc.collect()
    return before - _in_use()


def _in_use() -> int:
    from leakguard.capture.allocator import allocator_memory, pool_memory

    return int(allocator_memory()["heap_in_use"] + pool_memory()["python_in_use"])


def main() -> None:
    """Print one line a finding, and the median error."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("leaks", nargs="*", default=LEAKS)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        tell(*arguments.leaks)
        return
    errors = []
    print(
        "| leak | held by | told MB | proven MB | really released MB | error |\n" + "|---" * 6 + "|"
    )
    for leak in arguments.leaks:
        command = [sys.executable, __file__, "--one", leak]
        done = subprocess.run(
            command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE, text=True,
            check=True, timeout=_SECONDS,
        )  # fmt: skip
        for held_by, told, proven, really, refused in json.loads(done.stdout.splitlines()[-1]):
            if proven is None:
                print(f"| {leak} | {held_by} | {_mb(told)} | not: {refused} | {_mb(really)} | |")
                continue
            error = abs(proven - really) / max(really, 1)
            errors.append(error)
            numbers = " | ".join(map(_mb, (told, proven, really)))
            print(f"| {leak} | {held_by} | {numbers} | {error:.1%} |", flush=True)
    if errors:
        print(f"\nMedian error of {len(errors)} proofs: {statistics.median(errors):.2%}")


def _mb(size: int | None) -> str:
    return "" if size is None else f"{size / 1e6:.2f}"


if __name__ == "__main__":
    main()
