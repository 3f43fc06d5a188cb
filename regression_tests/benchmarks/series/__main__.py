"""Write the tables of shares called a leak: ``python -m regression_tests.benchmarks.series``.

Each kind of series is judged at every length, once with a look in each generation and once with
looks at growing distances. ``--tuned`` takes the seed that constants were chosen with.
"""

from __future__ import annotations

import argparse
import sys
import time
import zlib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from leakguard.analysis.series import judge_series
from regression_tests.benchmarks.series import rivals
from regression_tests.benchmarks.series.simulated import ROWS, Row, spread_looks

LENGTHS = (*range(4, 41), 60, 100, 300, 1000)
_SHOWN = (4, 5, 6, 8, 10, 12, 13, 16, 20, 30, 40, 60, 100, 300, 1000)


class Said(NamedTuple):
    """How often a row's series of one length were called what."""

    yes: float
    unknown: float
    rivals: tuple[float, ...]


def series(row: Row, generations: int, repetitions: int, seed: int) -> list[np.ndarray]:
    """Return a row's series: the same for every rule, and for every order of the rows."""
    rng = np.random.default_rng([seed, zlib.crc32(row.name.encode()), generations])
    return [row.make(rng, generations) for _ in range(repetitions)]


def say(row: Row, several: Sequence[np.ndarray], at: Sequence[int] | None) -> Said:
    """Judge several series of one length, by our rule and by the others."""
    looked = several if at is None else [values[np.array(at) - 1] for values in several]
    said = Counter(
        judge_series(values.tolist(), at=at, integer=row.counts).growing for values in looked
    )
    share = 1.0 / len(several)
    others = tuple(share * sum(map(rule, looked)) for rule in rivals.RULES)
    return Said(share * said["yes"], share * said["cannot tell"], others)


def judge_row(
    name: str, lengths: Sequence[int], repetitions: int, seed: int
) -> tuple[str, dict[tuple[int, bool], Said]]:
    """Return what is said of a row, by length and whether its looks are spread."""
    row = next(row for row in ROWS if row.name == name)
    said = {}
    for n in lengths:
        if n >= row.shortest:
            several = series(row, n, repetitions, seed)
            said[n, False] = say(row, several, None)
            if n >= 6:
                said[n, True] = say(row, several, spread_looks(n))
    return name, said


def worst(said: dict[tuple[int, bool], Said], spread: bool) -> tuple[float, int]:
    """Return the largest share of alarms over all lengths, and the length."""
    return max(((s.yes, n) for (n, at), s in said.items() if at is spread), default=(0.0, 0))


def none_table(rows: Sequence[Row], said: dict[str, dict[tuple[int, bool], Said]]) -> list[str]:
    """Return the alarms on healthy series: over all lengths together, and at the worst."""
    lines = [
        "| healthy series | alarms | worst length | cannot tell | alarms, spread looks "
        "| worst length | Mann-Kendall | window floor | window floor + Mann-Kendall |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = []
        for spread in (False, True):
            all_said = [s for (_, at), s in said[row.name].items() if at is spread]
            share, n = worst(said[row.name], spread)
            cells.append(f"{np.mean([s.yes for s in all_said]):.4f}")
            cells.append(f"{share:.3f} ({n})" if share else "0")
            if not spread:
                cells.append(f"{np.mean([s.unknown for s in all_said]):.2f}")
        even = [s.rivals for (_, at), s in said[row.name].items() if not at]
        cells += [f"{share:.2f}" for share in np.mean(even, axis=0)]
        lines.append(f"| {row.name} | " + " | ".join(cells) + " |")
    return lines


def leak_table(
    rows: Sequence[Row], said: dict[str, dict[tuple[int, bool], Said]], spread: bool
) -> list[str]:
    """Return the share of leaks that are found, by length."""
    lengths = [n for n in _SHOWN if any((n, spread) in said[row.name] for row in rows)]
    lines = [
        "| leak | " + " | ".join(map(str, lengths)) + " | largest fall |",
        "|---|" + "---|" * (len(lengths) + 1),
    ]
    for row in rows:
        found = [said[row.name].get((n, spread)) for n in lengths]
        cells = ["" if one is None else f"{one.yes:.2f}" for one in found]
        by_length = [s.yes for (_, at), s in sorted(said[row.name].items()) if at is spread]
        best = np.maximum.accumulate(by_length)
        cells.append(f"{np.max(best - np.array(by_length)):.2f}")
        lines.append(f"| {row.name} | " + " | ".join(cells) + " |")
    return lines


def unkept(rows: Sequence[Row], said: dict[str, dict[tuple[int, bool], Said]]) -> list[str]:
    """Return each promise that is not kept over all its lengths together.

    At most 1 % of healthy series are called a leak, at least 99 % of the leaks that are asked for
    are found.
    """
    lines = []
    for row in rows:
        for spread, looks in ((False, ""), (True, " at spread looks")):
            shares = [s.yes for (_, at), s in said[row.name].items() if at is spread]
            if row.truth == "none" and shares and np.mean(shares) > 0.01:
                lines.append(f"- {row.name}{looks}: {np.mean(shares):.3f} alarms")
        if row.asked is not None:
            asked = [s.yes for (n, at), s in said[row.name].items() if not at and n >= row.asked]
            if asked and np.mean(asked) < 0.99:
                found = f"{np.mean(asked):.3f} found"
                lines.append(f"- {row.name}, {row.asked} and more generations: {found}")
    return lines or ["None."]


def cost() -> str:
    """Return a sentence on what a judgement costs."""
    rng = np.random.default_rng(0)
    parts = []
    for n, repetitions in ((10, 200), (100, 100), (1000, 50), (60_000, 3)):
        values = (rng.normal(size=(repetitions, n)) + 0.2 * np.arange(n)).tolist()
        judge_series(values[0])
        begin = time.process_time()
        for one in values:
            judge_series(one)
        parts.append(f"{n:,} in {1e3 * (time.process_time() - begin) / repetitions:.1f} ms")
    return "CPU time to judge a leak of 0.2 a generation, by looks: " + ", ".join(parts) + "."


def text(rows: Sequence[Row], said: dict[str, dict[tuple[int, bool], Said]], head: str) -> str:
    """Return the report in Markdown."""
    none = [row for row in rows if row.truth == "none"]
    leaks = [row for row in rows if row.truth == "leak"]
    parts = [
        ["# Share of simulated series that are called a leak", "", head],
        ["## Healthy series, all lengths", *none_table(none, said)] if none else [],
        ["## Leaks found, a look in each generation", *leak_table(leaks, said, False)]
        if leaks
        else [],
        ["## Leaks found, looks at generations 1, 2, 3, 4, 6, 9, 13, 20, 31, 47, ... and the last",
         *leak_table(leaks, said, True)] if leaks else [],
        ["## Promises that are not kept", *unkept(rows, said)],
        [cost()],
    ]  # fmt: skip
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def main() -> None:
    """Simulate, judge, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=2, help="1 is the one that was tuned with")
    parser.add_argument("--rows", default="", help="only rows whose name contains this")
    parser.add_argument("--lengths", type=int, nargs="*", default=LENGTHS)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path, default=None)
    args = parser.parse_args()
    longest = max(args.lengths)
    rows = [row for row in ROWS if args.rows in row.name and row.shortest <= longest]
    work = partial(judge_row, lengths=args.lengths, repetitions=args.repetitions, seed=args.seed)
    with ProcessPoolExecutor(args.processes) as pool:
        said = dict(pool.map(work, [row.name for row in rows]))
    lengths = f"{len(args.lengths)} lengths from {min(args.lengths)} to {max(args.lengths)}"
    tuned = " (constants were chosen with it)" if args.seed == 1 else " (not used in tuning)"
    head = (
        f"{args.repetitions} series a row and length, {lengths} generations, seed {args.seed}"
        f"{tuned}; noise of standard deviation 1."
    )
    report = text(rows, said, head)
    if args.output:
        args.output.mkdir(parents=True, exist_ok=True)
        (args.output / "table.md").write_text(report, encoding="utf-8")
        command = "python -m regression_tests.benchmarks.series " + " ".join(sys.argv[1:])
        (args.output / "COMMAND").write_text(command + "\n", encoding="utf-8")
    else:
        print(report)


if __name__ == "__main__":
    main()
