"""Write the table of shares called a leak: ``python -m regression_tests.benchmarks.series``."""

from __future__ import annotations

import argparse
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from leakguard.analysis.series import judge_series
from regression_tests.benchmarks.series import rivals
from regression_tests.benchmarks.series.few import FEW_ROWS
from regression_tests.benchmarks.series.simulated import ROWS, Row

Rule = Callable[[np.ndarray], bool]


def _ours(values: np.ndarray) -> str:
    return judge_series(values.tolist()).growing


def share(row: Row, rule: Rule, repetitions: int, seed: int) -> float:
    """Return the share of a row's series that a rule calls a leak."""
    return float(np.mean([rule(values) for values in series(row, repetitions, seed)]))


def series(row: Row, repetitions: int, seed: int) -> list[np.ndarray]:
    """Return a row's series: the same for every rule, and for every order of the rows.

    They are sorted by length, which is how a run judges them: what depends on it is cached.
    """
    rng = np.random.default_rng([seed, zlib.crc32(row.name.encode())])
    return sorted((row.make(rng) for _ in range(repetitions)), key=len)


def table(rows: tuple[Row, ...], repetitions: int, seed: int) -> list[str]:
    """Return the table's lines in Markdown."""
    lines = [
        "| series | truth | leakguard: leak | cannot tell | Mann-Kendall | window floor "
        "| window floor + Mann-Kendall on the tail |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        said = [_ours(values) for values in series(row, repetitions, seed)]
        cells = [said.count("yes") / repetitions, said.count("cannot tell") / repetitions]
        others = (rivals.mann_kendall, rivals.window_floor, rivals.window_floor_and_tail)
        cells += [share(row, rule, repetitions, seed) for rule in others]
        name = row.name if row.asked else f"{row.name} (no promise)"
        lines.append(f"| {name} | {row.truth} | " + " | ".join(f"{c:.3f}" for c in cells) + " |")
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def cost(repetitions: int = 200) -> str:
    """Return a sentence on what a judgement of 100 rounds costs."""
    rng = np.random.default_rng(0)
    rounds = np.arange(100)
    kinds = {
        "constant": [np.full(100, 7.0)] * repetitions,
        "noise": list(rng.normal(size=(repetitions, 100))),
        "growing": list(rng.normal(size=(repetitions, 100)) + 0.2 * rounds),
        "sawtooth": list(rng.normal(size=(repetitions, 100)) + 0.2 * rounds + rounds % 12),
    }
    parts = []
    for name, several in kinds.items():
        lists = [values.tolist() for values in several]
        judge_series(lists[0])
        begin = time.process_time()
        for values in lists:
            judge_series(values)
        parts.append(f"{name} {1e3 * (time.process_time() - begin) / repetitions:.2f} ms")
    return "CPU time to judge one series of 100 rounds: " + ", ".join(parts) + "."


def main() -> None:
    """Simulate, judge, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", default="", help="only rows whose name contains this")
    parser.add_argument("--few-only", action="store_true", help="only the short series")
    parser.add_argument("-o", "--output", type=Path, default=None)
    args = parser.parse_args()
    chosen = tuple(row for row in ROWS if args.rows in row.name and not args.few_only)
    few = tuple(row for row in FEW_ROWS if args.rows in row.name)
    lines = [
        "# Share of simulated series that are called a leak",
        "",
        f"{args.repetitions} series a row, seed {args.seed}; noise of standard deviation 1.",
        "",
        "## 100 to 120 rounds",
        *table(chosen, args.repetitions, args.seed),
        "",
        "## 4 to 32 rounds",
        *table(few, args.repetitions, args.seed),
        "",
        cost(),
    ]
    text = "\n".join(lines) + "\n"
    if args.output:
        args.output.mkdir(parents=True, exist_ok=True)
        (args.output / "table.md").write_text(text, encoding="utf-8")
        command = "python -m regression_tests.benchmarks.series " + " ".join(sys.argv[1:])
        (args.output / "COMMAND").write_text(command + "\n", encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
