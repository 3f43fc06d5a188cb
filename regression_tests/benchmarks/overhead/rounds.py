"""What a guard costs a loop of short rounds, each with two phases, beside the loop alone.

``python -m regression_tests.benchmarks.overhead.rounds [--pairs N] -o reports/overhead`` plays
loops of rounds of half a millisecond and longer, alone, watched and alone again, in turn, each in a
process of its own. CPU time is compared, with that of the copies in which looks are taken. The
table tells the whole run, and its second half, where what any run may spend has been spent.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

#: Milliseconds of a round, and how many of them a loop has.
LOOPS = {0.5: 30_000, 5.0: 2_000, 50.0: 300}
_ROUGHLY_A_MILLISECOND = 30_000  # additions of small integers, on a machine of 2025


def main() -> None:
    """Play all loops, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("-o", "--out", type=Path)
    parser.add_argument("--play", nargs=2, metavar=("MILLISECONDS", "WATCHED"))
    asked = parser.parse_args()
    if asked.play:
        print(*_played(float(asked.play[0]), watched=asked.play[1] == "yes"))
        return
    text = "\n".join([*_HEAD, *(_row(milliseconds, asked.pairs) for milliseconds in LOOPS)]) + "\n"
    print(text)
    if asked.out:
        (asked.out / "rounds.md").write_text(text, encoding="utf-8")


_HEAD = (
    "Loops over a list of 100,000 lists, with two phases a round, of some 20 s of CPU. Ratios of",
    "CPU time, the copies for looks included, beside the same loop alone: the middle of the pairs,",
    "and in brackets the lowest and the highest. *Nothing* is the loop alone beside itself.",
    "",
    "| a round | rounds | measured | whole run | second half | nothing, second half |",
    "|---:|---:|---:|---|---|---|",
)


def _row(milliseconds: float, pairs: int) -> str:
    whole, half, nothing, measured = [], [], [], []
    for _ in range(pairs):
        before, watched, after = (_child(milliseconds, who) for who in ("no", "yes", "no"))
        whole.append(2 * watched[0] / (before[0] + after[0]))
        half.append(2 * watched[1] / (before[1] + after[1]))
        nothing.append(after[1] / before[1])
        measured.append(watched[2])
    rounds = LOOPS[milliseconds]
    told = " | ".join(map(_told, (whole, half, nothing)))
    return f"| {milliseconds:g} ms | {rounds:,} | {statistics.median(measured):,.0f} | {told} |"


def _told(ratios: list[float]) -> str:
    return f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"


def _child(milliseconds: float, watched: str) -> tuple[float, ...]:
    command = [sys.executable, "-m", __spec__.name, "--play", f"{milliseconds}", watched]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return tuple(map(float, done.stdout.split()))


def _played(milliseconds: float, *, watched: bool) -> tuple[float, float, int]:
    """Return the CPU seconds of the loop, of its second half, and how many rounds were measured."""
    from leakguard import LeakGuard

    rounds, halves = LOOPS[milliseconds], [0.0] * 3
    kept = [[number] for number in range(100_000)]
    with TemporaryDirectory() as folder:
        guard = LeakGuard(out=Path(folder, "run.jsonl"), report=None) if watched else None
        halves[0] = _spent()
        with guard or contextlib.nullcontext():
            phases: Callable[[str], contextlib.AbstractContextManager[object]] = (
                guard.phase if guard else contextlib.nullcontext
            )
            for number in guard.generations(range(rounds)) if guard else range(rounds):
                if number == rounds // 2:
                    halves[1] = _spent()
                for name in ("first", "second"):
                    with phases(name):
                        _work(milliseconds / 2, kept)
        halves[2] = _spent()
        measured = guard.run.recorded_generations if guard else 0
    return halves[2] - halves[0], halves[2] - halves[1], measured


def _work(milliseconds: float, kept: list[list[int]]) -> int:
    """Add numbers, and make some objects that are dropped at once."""
    total, made = 0, []
    for number in range(int(milliseconds * _ROUGHLY_A_MILLISECOND)):
        total += kept[number % len(kept)][0]
        if number % 64 == 0:
            made.append([total])
    return total


def _spent() -> float:
    own = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in own)


if __name__ == "__main__":
    main()
