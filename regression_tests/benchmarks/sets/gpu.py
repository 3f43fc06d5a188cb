"""Trainings that keep memory of a GPU in a way of their own, each with a calm twin."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

from regression_tests.benchmarks.leakbench.program import Truth
from regression_tests.benchmarks.playing.entry import BENCHMARKS, OUT, Entry, Unplayable, python
from regression_tests.benchmarks.playing.manifest import Manifest

_PROGRAM = BENCHMARKS / "gpu" / "program.py"
#: What each keeps in a generation: bytes, by the count of torch itself.
_SIZES = {
    "losses": 1.57e6, "hidden": 1.57e6, "rollouts": 2.10e6, "activations": 0.52e6,
    "optimizers": 4.21e6, "pinned": 2.10e6, "weights": 2.10e6, "batches": 2.10e6, "sizes": 2.2e6,
    "out_of_memory": 32e6,
}  # fmt: skip


def _entries(name: str, device: str) -> Iterator[Entry]:
    for kind in _SIZES:
        for side, twin in (("leak", "leak"), ("clean", "calm")):
            fills = kind == "out_of_memory" and side == "leak"
            yield Entry(
                name,
                f"{kind}-{side}",
                _PROGRAM.name,
                (_truth(kind),) if side == "leak" else (),
                partial(_command, device, kind, twin),
                {"CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", "0")},
                needs=("torch",),
                ends="OutOfMemoryError" if fills else "",
            )


def _command(device: str, kind: str, twin: str) -> list[str]:
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise Unplayable("needs a CUDA device")
    return python(str(_PROGRAM), kind, twin, OUT, device)


def _truth(kind: str) -> Truth:
    holder = ".hidden" if kind == "hidden" else ".kept[*]"
    lines = _PROGRAM.read_text(encoding="utf-8").splitlines()
    made = next(n for n, text in enumerate(lines, 1) if text.endswith(f"# MADE HERE {kind}"))
    lines_made = (f"{_PROGRAM.name}:{made}",)
    return Truth(("keep",), holder=(holder,), start=None, size=_SIZES[kind], lines=lines_made)


SETS = tuple(
    Manifest(
        name,
        partial(_entries, name, device),
        f"Trainings of 30 generations that keep memory of {what}.",
        ("holder", "line", "phase", "size"),
    )
    for name, device, what in (
        ("gpu", "cuda", "a GPU"),
        ("gpu_on_cpu", "cpu", "a GPU, played without one"),
    )
)
