"""Programs with two to five leaks at once, made of a seed, and their clean twins."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from regression_tests.benchmarks.leakbench.program import Truth
from regression_tests.benchmarks.playing.entry import OUT, Entry, python
from regression_tests.benchmarks.playing.manifest import Manifest
from regression_tests.benchmarks.several_leaks.program import Planted, program_of

_SEEDS = range(1, 61)
_FILE = "program.py"


def _entries() -> Iterator[Entry]:
    for seed in _SEEDS:
        for side in ("leak", "clean"):
            program = program_of(seed, leaky=side == "leak")
            yield Entry(
                "several_leaks",
                f"seed_{seed:02}-{side}",
                _FILE,
                tuple(map(_truth, program.leaks)),
                partial(python, _FILE, OUT),
                files={_FILE: program.source},
                needs=("torch",) if program.has_torch else (),
            )


def _truth(leak: Planted) -> Truth:
    return Truth((leak.phase,), holder=(leak.kind.holder,), lines=(f"{_FILE}:{leak.line}",))


SETS = (
    Manifest(
        "several_leaks",
        _entries,
        "Programs of two to five leaks, drawn with a seed; half of them use torch.",
        ("holder", "line", "phase", "start"),
    ),
)
