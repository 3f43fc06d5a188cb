"""The tables of what watching costs, in Markdown."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping

from regression_tests.benchmarks.overhead.pairs import Pairs
from regression_tests.benchmarks.overhead.stopwatch import Measured
from regression_tests.benchmarks.overhead.variants import VARIANTS, WATCHED

_SHOWN = 40  # generations that are all listed; of more, those that were looked at


def table(told: Mapping[str, Pairs]) -> str:
    """Return the ratio of each variant, then what the default guard did in which generation.

    Under the middle dots stands the watched loop before the one alone.
    """
    lines = [
        "| beside the loop alone | generations | CPU s a generation (median) · alone "
        "| of them in the kernel (mean) · alone | page faults a generation (mean) · alone "
        "| ratio of totals | each pair |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    lines += [_row(VARIANTS[name], told[name]) for name in VARIANTS if name in told]
    for name in WATCHED:
        if name in told:
            lines += ["", f"{VARIANTS[name]}:", "", *_by_tier(told[name])]
            lines += ["", *_by_generation(told[name])]
    return "\n".join(lines)


def _row(title: str, pairs: Pairs) -> str:
    sides = pairs.watched, pairs.alone
    generations = [list(itertools.chain(*(one.cpu_seconds for one in side))) for side in sides]
    count = len(generations[0])
    cells = (
        title,
        str(count),
        " · ".join(f"{statistics.median(seconds):.3f}" for seconds in generations),
        " · ".join(f"{sum(one.system_seconds for one in side) / count:.2f}" for side in sides),
        " · ".join(f"{sum(one.page_faults for one in side) / count:,.0f}" for side in sides),
        pairs.ratio,
        ", ".join(f"{ratio:.3f}" for ratio in pairs.ratios),
    )
    return f"| {' | '.join(cells)} |"


def _by_tier(pairs: Pairs) -> list[str]:
    """Return the ratio in generations that were looked at in depth, and in the others."""
    lines = ["| what the guard did | generations | ratio of totals |", "|---|---:|---:|"]
    for title, wanted in (
        ("phase boundaries only (tier 0)", {0}),
        ("a census, and who holds what (tiers 1 and 2)", {1, 2}),
        ("traced the generation (tier 3)", {3}),
    ):
        chosen = [
            [number for number, _, tier in one.guard if tier in wanted] for one in pairs.watched
        ]
        if any(chosen):
            lines.append(f"| {title} | {sum(map(len, chosen))} | {pairs.ratio_of(chosen):.3f} |")
    return lines


def _by_generation(pairs: Pairs) -> list[str]:
    """Return what each generation of the first pair cost."""
    lines = [
        "| generation | alone, CPU s | guarded, CPU s | of them the guard by its clock | tier |",
        "|---:|---:|---:|---:|---:|",
    ]
    watched, alone = pairs.watched[0], pairs.alone[0]
    lines += [
        f"| {number} | {_at(alone, number)} | {_at(watched, number)} | {seconds:.3f} | {tier} |"
        for number, seconds, tier in watched.guard
        if tier or len(watched.guard) <= _SHOWN
    ]
    return lines


def _at(loop: Measured, generation: int) -> str:
    return f"{loop.cpu_seconds[generation - 1]:.3f}"
