"""Proves leaks by cutting them in a copy of their process, then really cuts them.

Each leak runs in a process of its own with ``prove=True``: those of the reference trainer for six
small generations, programs of LeakBench as they are. When the run is over and the program still
holds what it leaked, what a finding names as its holder is emptied in the process itself, and what
the allocators have in use (C allocator and Python's pools) is read before and after. Errors are
those of the proof against that release.

    python -m regression_tests.benchmarks.heap.prove_leaks [LEAK ...]
"""

from __future__ import annotations

import argparse
import functools
import gc
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextvars import ContextVar, copy_context
from inspect import signature
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from leakguard.model import Report
from regression_tests.benchmarks.heap.release_leaks import LEAKS, follow, objects_at, train

# Programs of LeakBench whose leak something keeps that can be emptied.
BENCH = (
    "list_history", "deque_without_maxlen", "bytes_cache", "dedupe_set", "totals_by_user",
    "slots_tree", "views_of_big_arrays", "object_array", "websocket_clients_never_removed",
    "metric_labels_without_bound", "scalar_history_of_a_writer", "rows_of_big_batches",
    "cache_by_timestamp", "event_listeners", "closures_registered_each_round", "stored_exceptions",
    "context_variable", "class_registry", "default_argument", "env_per_episode",
    "old_populations", "best_agent_history", "replay_without_bound", "losses_kept_with_graph",
    "tensors_over_numpy_owners", "starts_at_generation_four", "every_second_generation",
    "ten_small_objects", "nested_phase", "amount_varies", "under_a_sawtooth",
)  # fmt: skip
_SECONDS = 1800
_LOCAL = re.compile(r"local (\w+) in (.+?)\(\)")
_VARIABLE = re.compile(r"context variable (.+)")
_DEFAULT = re.compile(r"(.+) → default argument (\w+) of .+")
Row = tuple[str, int | None, int | None, int | None, str | None]


def tell(leak: str) -> None:
    """Print, as JSON, each finding's holder, the bytes told, proven and released, or why not."""
    with tempfile.TemporaryDirectory() as folder:
        rows = _of_program(leak, Path(folder)) if leak in BENCH else _of_trainer(leak, Path(folder))
    print(json.dumps(rows), flush=True)
    os._exit(0)  # threads that a program left waiting do not hold it up


def _of_trainer(leak: str, folder: Path) -> list[Row]:
    import reference_trainer.watching as watching_module

    watching_module.LeakGuard = functools.partial(watching_module.LeakGuard, prove=True)
    watching = train(leak, folder)
    return _rows(watching.guard.report())


def _of_program(name: str, folder: Path) -> list[Row]:
    from leakguard import LeakGuard
    from regression_tests.benchmarks.leakbench.program import PROGRAMS, open_set

    open_set("short")
    watched = _EndsWithItsLoop(LeakGuard(out=folder / "run.jsonl", report=None, prove=True))
    PROGRAMS[name].main(watched, True)
    return watched.rows


class _EndsWithItsLoop:
    """A guard whose run is over when its loop is: the program still holds what it leaked."""

    def __init__(self, guard: Any) -> None:
        self._guard = guard
        self.rows: list[Row] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._guard, name)

    def generations(self, *rounds: Any) -> Iterator[Any]:
        with self._guard:
            yield from self._guard.generations(*rounds)
        self.rows = _rows(self._guard.report())


def _rows(report: Report) -> list[Row]:
    proofs = {f.held_by: f.proof for f in report.findings if f.held_by and f.proof is not None}
    return [
        (held_by, proof.told, proof.released, released(held_by), proof.refused)
        for held_by, proof in proofs.items()
    ]


def released(held_by: str) -> int | None:
    """Empty what a finding names, here; return what the allocators have less in use."""
    cuts = [_cut(item) for item in _containers(held_by.removesuffix("[*]"))]
    if not cuts or None in cuts:
        return None
    gc.collect()
    before = _in_use()
    for cut in filter(None, cuts):
        cut()
    gc.collect()
    return before - _in_use()


def _cut(container: Any) -> Callable[[], object] | None:
    """Return what a person would call to be rid of what a container holds."""
    if isinstance(container, ContextVar):
        return functools.partial(container.set, type(container.get())())
    if isinstance(container, np.ndarray):
        return functools.partial(container.fill, None)
    return getattr(container, "clear", None)


def _containers(name: str) -> list[Any]:
    """Return what a name stands for, in a function, an instance, a module, a context variable."""
    local = _LOCAL.match(name)
    if local is not None:
        frame: FrameType | None = sys._getframe()
        while frame is not None and frame.f_code.co_name != local[2].rpartition(".")[2]:
            frame = frame.f_back
        return [] if frame is None else follow([frame.f_locals[local[1]]], name[local.end() :])
    variable = _VARIABLE.fullmatch(name)
    if variable is not None:
        return [item for item in copy_context() if item.name == variable[1]]
    default = _DEFAULT.fullmatch(name)
    if default is not None:
        return [signature(f).parameters[default[2]].default for f in objects_at(default[1])]
    try:
        return follow(*_instances(name)) or objects_at(name)
    except (LookupError, AttributeError):
        return []


def _instances(name: str) -> tuple[list[Any], str]:
    """Return the instances of the class that a name begins with, and the rest of the name."""
    found: dict[str, list[Any]] = {}
    for item in gc.get_objects():
        anchor = f"{type(item).__module__}.{type(item).__qualname__}"
        if name.startswith(anchor + "."):
            found.setdefault(anchor, []).append(item)
    longest = max(found, key=len, default="")
    return found.get(longest, []), name[len(longest) :] if longest else ""


def _in_use() -> int:
    from leakguard.capture.allocator import allocator_memory, pool_memory

    return int(allocator_memory()["heap_in_use"] + pool_memory()["python_in_use"])


def main() -> None:
    """Print one line a finding, and the median error."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("leaks", nargs="*", default=[*LEAKS, *BENCH])
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        tell(*arguments.leaks)
        return
    errors: dict[str, list[float]] = {}
    print(
        "| leak | held by | told MB | proven MB | really released MB | error |\n" + "|---" * 6 + "|"
    )
    for leak in arguments.leaks:
        for row in _told(leak):
            error = _error(row)
            errors.setdefault(leak, []).extend([] if error is None else [error])
            print(_line(leak, row, error), flush=True)
    found = [error for leak in errors.values() for error in leak]
    if found:
        leaks = sum(map(bool, errors.values()))
        median = f"{statistics.median(found):.2%}"
        print(f"\nMedian error of {len(found)} proofs of {leaks} leaks: {median}")


def _told(leak: str) -> list[Row]:
    """Return the rows of one leak, from a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", __spec__.name, "--one", leak],
        env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True,
        timeout=_SECONDS, check=False,
    )  # fmt: skip
    if done.returncode or not done.stdout.strip():
        return [("", None, None, None, f"status {done.returncode}: {done.stderr[-200:]}")]
    rows = json.loads(done.stdout.splitlines()[-1])
    return rows or [("", None, None, None, "no finding has a holder")]


def _error(row: Row) -> float | None:
    _, _, proven, really, _ = row
    return None if proven is None or really is None else abs(proven - really) / max(really, 1)


def _line(leak: str, row: Row, error: float | None) -> str:
    held_by, told, proven, really, refused = row
    shown = f"not: {refused}" if proven is None else _mb(proven)
    parts = (leak, held_by, _mb(told), shown, _mb(really), "" if error is None else f"{error:.1%}")
    return "| " + " | ".join(parts) + " |"


def _mb(size: int | None) -> str:
    return "" if size is None else f"{size / 1e6:.3f}"


if __name__ == "__main__":
    main()
