"""Released packages: the version that leaks and the mended one, each in its environment."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from regression_tests.benchmarks.leakbench.program import Truth
from regression_tests.benchmarks.packages import pairs
from regression_tests.benchmarks.packages.environment import Unbuildable, environment
from regression_tests.benchmarks.packages.pair import PAIRS, SIDES, Pair
from regression_tests.benchmarks.playing.entry import OUT, Entry, Unplayable
from regression_tests.benchmarks.playing.manifest import Manifest

assert pairs

_CHILD = "regression_tests.benchmarks.packages.child"


def _entries() -> Iterator[Entry]:
    for pair in PAIRS.values():
        for side in SIDES:
            yield entry_of(pair, side)


def entry_of(pair: Pair, side: str, mode: str = "guarded") -> Entry:
    """Return one version of a package; ``plain`` writes numbers of its own in place of a run."""
    return Entry(
        "packages",
        f"{pair.name}-{side}" + ("-plain" if mode == "plain" else ""),
        f"/{pair.module}/",
        (_truth(pair),) if side == "leaky" else (),
        partial(_command, pair, side, mode),
        {"PYTHONPATH": ""},  # its environment has leakguard installed
    )


def _truth(pair: Pair) -> Truth:
    kinds = () if pair.types else ("native", "memory")
    return Truth(("call",), pair.types, pair.holders, None, kind=kinds)


def _command(pair: Pair, side: str, mode: str) -> list[str]:
    try:
        where = environment(pair.python, pair.requirements(side))
    except Unbuildable as reason:
        raise Unplayable(str(reason)) from reason
    return where.module(_CHILD, mode, pair.name, OUT)


SETS = (
    Manifest(
        "packages",
        _entries,
        "Released packages: the version that leaks and the mended one.",
        ("type", "holder", "phase"),
    ),
)
