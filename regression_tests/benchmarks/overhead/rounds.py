"""What a guard adds to a loop of short rounds, each with two phases.

``python -m regression_tests.benchmarks.overhead.rounds -o reports/overhead`` plays loops of rounds
of half a millisecond and longer, with ``LEAKGUARD=off`` and watched. A round consists of the
program's own work, whose CPU time is taken, and of what lies between; that is what the guard adds
in the process itself, beside the 0.1 ms of the clocks. What copies of the process took comes on
top. Sampled births slow the work itself: for that see ``benchmarks.births.overhead``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

#: Milliseconds of a round, on a machine of 2025, and how many of them a loop has.
LOOPS = {0.5: 20_000, 5.0: 2_000, 50.0: 200}
_TURNS = 20_000  # turns of the loop in ``_work`` that take roughly a millisecond
#: The stretch of the run in which what any run may spend has been spent; it lies between the looks
#: in the middle and at the end.
_BEGIN, _END = 0.6, 0.95
_HEAD = (
    "Loops over a list of 100,000 lists, with two phases a round. CPU milliseconds a round: the",
    "program's own work, what the guard adds in the process (beside what is there with",
    "`LEAKGUARD=off`), and what its copies of the process take.",
    "",
    "| rounds | measured | part of the run | work | added | in copies | together |",
    "|---:|---:|---|---:|---:|---:|---:|",
)


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU seconds of the process, of its work in rounds, and of the copies, up to one moment."""

    process: float
    work: float
    copies: float

    def since(self, before: Spent) -> Spent:
        """Return what was spent since another moment."""
        return Spent(
            self.process - before.process, self.work - before.work, self.copies - before.copies
        )


def main() -> None:
    """Play all loops, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--out", type=Path)
    parser.add_argument("--play", type=float, metavar="MILLISECONDS")
    asked = parser.parse_args()
    if asked.play:
        print(json.dumps(_played(asked.play)))
        return
    lines = list(_HEAD)
    for milliseconds in LOOPS:
        lines += _rows(milliseconds)
        print(*lines[-2:], sep="\n", flush=True)
    if asked.out:
        (asked.out / "rounds.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _rows(milliseconds: float) -> list[str]:
    rounds = LOOPS[milliseconds]
    off, watched = _child(milliseconds, "off"), _child(milliseconds, "")
    rows = []
    for part, share in (("whole", 1.0), ("60 to 95 %", _END - _BEGIN)):
        own, alone = Spent(**watched[part]), Spent(**off[part])
        each = 1e3 / (share * rounds)
        added = (own.process - own.work) - (alone.process - alone.work)
        together = (added + own.copies) / own.work
        cells = (
            f"{rounds:,}", f"{watched['measured']:,}", part, f"{each * own.work:.2f}",
            f"{each * added:.3f}", f"{each * own.copies:.3f}", f"{100 * together:.1f} %",
        )  # fmt: skip
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def _child(milliseconds: float, switch: str) -> dict[str, object]:
    command = [sys.executable, "-m", __spec__.name, "--play", f"{milliseconds}"]
    environment = {**os.environ, "LEAKGUARD": switch}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return dict(json.loads(done.stdout))


def _played(milliseconds: float) -> dict[str, object]:
    """Return what the loop spent, in whole and in that stretch, and how many rounds it measured."""
    from leakguard import LeakGuard

    rounds, work, marks = LOOPS[milliseconds], 0.0, {}
    kept = [[number] for number in range(100_000)]
    with TemporaryDirectory() as folder:
        guard = LeakGuard(out=Path(folder, "run.jsonl"), report=None)
        marks["begin"] = _spent(work)
        with guard:
            for number in guard.generations(range(rounds)):
                if number in (_BEGIN * rounds, _END * rounds):
                    marks[number / rounds] = _spent(work)
                for name in ("first", "second"):
                    with guard.phase(name):
                        began = time.thread_time()
                        _work(milliseconds / 2, kept)
                        work += time.thread_time() - began
        marks["end"] = _spent(work)
        measured = guard.run.recorded_generations
    whole, later = marks["end"].since(marks["begin"]), marks[_END].since(marks[_BEGIN])
    return {"whole": asdict(whole), "60 to 95 %": asdict(later), "measured": measured}


def _work(milliseconds: float, kept: list[list[int]]) -> int:
    """Add numbers, and make some objects that are dropped at once."""
    total, made = 0, []
    for number in range(int(milliseconds * _TURNS)):
        total += kept[number % len(kept)][0]
        if number % 64 == 0:
            made.append([total])
    return total


def _spent(work: float) -> Spent:
    copies = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Spent(time.process_time(), work, copies.ru_utime + copies.ru_stime)


if __name__ == "__main__":
    main()
