"""One program of a seed: its leaks, its look-alikes, and what is right to say of it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import indent

from regression_tests.benchmarks.several_leaks.kinds import LEAKS, LOOK_ALIKES, Kind

_GENERATIONS = (8, 12, 16, 24, 40, 60, 120)
_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
_SIZES = (50_000, 100_000, 200_000, 400_000)
# A run lasts no longer than this.
_LONGEST = 6.0


@dataclass(frozen=True, slots=True)
class Planted:
    """One leak of a program: its kind, its phase, and the line that makes what it keeps."""

    kind: Kind
    phase: str
    line: int


@dataclass(frozen=True, slots=True)
class Program:
    """A program of a seed and, with ``leaks`` empty, its clean twin."""

    seed: int
    source: str
    leaks: tuple[Planted, ...]
    generations: int
    seconds: float
    has_torch: bool


def program_of(seed: int, *, leaky: bool) -> Program:
    """Return the program of a seed: half of them use torch, whatever their leaks."""
    chance = random.Random(seed)
    has_torch = seed % 2 == 1
    kinds = chance.sample([k for k in LEAKS if has_torch or not k.torch], chance.randint(2, 5))
    sizes = [chance.choice(_SIZES) for _ in kinds]
    generations = chance.choice(_GENERATIONS)
    seconds = chance.choice([s for s in _SECONDS if s * generations <= _LONGEST])
    healthy = chance.sample(LOOK_ALIKES, 2)
    source = _source(kinds, sizes, healthy, (generations, seconds), leaky, has_torch)
    lines = source.splitlines()
    made = [number for number, text in enumerate(lines, 1) if text.endswith("# MADE")]
    leaks = tuple(
        Planted(kind, f"do_{kind.name}", line) for kind, line in zip(kinds, made, strict=True)
    )
    return Program(seed, source, leaks if leaky else (), generations, seconds, has_torch)


def _source(
    kinds: Sequence[Kind],
    sizes: Sequence[int],
    healthy: Sequence[tuple[str, str]],
    loop: tuple[int, float],
    leaky: bool,
    has_torch: bool,
) -> str:
    generations, seconds = loop
    parts = ["import sys", "import time", "import numpy as np"]
    parts += ["import torch"] if has_torch else []
    parts += ["from leakguard import LeakGuard, phase"]
    parts += [setup for setup, _ in healthy] + [kind.setup for kind in kinds]
    for kind, size in zip(kinds, sizes, strict=True):
        body = [kind.make.format(size=size, g="g"), kind.keep if leaky else kind.drop]
        parts += [f'@phase("do_{kind.name}")', f"def do_{kind.name}(g):"]
        parts += [indent("\n".join(body), "    ")]
    parts += ["def serve(g):", *(indent(body, "    ") for _, body in healthy)]
    parts += ["def train():", *_training(has_torch)]
    parts += [
        "with LeakGuard(out=sys.argv[1], log=None, report=None) as guard:",
        f"    for g in guard.generations(range(1, {generations + 1})):",
        f"        end = time.perf_counter() + {seconds}",
        *(f"        do_{kind.name}(g)" for kind in kinds),
        '        with guard.phase("serve"):',
        "            serve(g)",
        '        with guard.phase("train"):',
        "            train()",
        "        while time.perf_counter() < end:",
        "            sum(range(500))",
    ]
    return "\n".join(parts) + "\n"


def _training(has_torch: bool) -> list[str]:
    if not has_torch:
        return ["    return sum(i * i for i in range(2000))"]
    return [
        "    layer = torch.nn.Linear(64, 64)",
        "    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)",
        "    layer(torch.randn(64, 64)).pow(2).mean().backward()",
        "    optimizer.step()",
    ]
