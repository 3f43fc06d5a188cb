"""How true the rate of a leak is that births tell, and how small a leak they still see.

Each play is a process that leaks blocks of one size for some rounds, beside what comes and goes, or
does not leak::

    python -m regression_tests.benchmarks.births.accuracy [--plays N] [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

#: Bytes of a block with its header, and how it is made: by Python's small blocks, its larger ones,
#: and by C.
BLOCKS = {
    48: "bytes(15)",
    433: "bytes(400)",
    5_057: "bytearray(5_000)",
    100_112: "numpy.empty(12_500)",
}
#: Blocks that one round leaves behind.
NUMBERS = (1, 10, 100)
#: What a round makes and drops beside it.
BESIDE = {
    "nothing": "pass",
    "20,000 numbers": "for number in range(20_000): str(number)",
    "2,000 of each size": "for _ in range(2_000): bytes(15); bytes(400); bytearray(5_000)",
    "100 networks' buffers": "for _ in range(100): numpy.empty(12_500); numpy.empty(400)",
}
_PROGRAM = """
import json, sys, zlib
import numpy
from leakguard.capture.births import BirthRecord
from leakguard.model.residue import residue
rounds, data = {rounds}, bytes(2_000_000)
kept = [None] * rounds
def leak(round_):
    kept[round_] = [{block} for _ in range({number})]
record = BirthRecord(seed={seed})
record.start()
assert record.problem is None, record.problem
for round_ in range(rounds):
    record.mark(round_, "")
    record.check()
    {beside}
    zlib.crc32(data)
    leak(round_)
told = record.cohorts(rounds)
mine = [p for p in told.places if p.function == "leak" and p.bytes]
left = residue(mine, rounds) if mine else None
true = sys.getsizeof(kept[-1]) + {number} * {size}
variance = sum(c.error ** 2 for p in mine for c in p.cohorts)
equal = min(sum(p.bytes for p in mine) ** 2 / variance if variance else 1e9,
            sum(p.samples for p in mine))
print(json.dumps([true, *([left.rate, equal, left.steady] if left else [None, 0, False])]))
"""


@dataclass(frozen=True, slots=True)
class Play:
    """One play: what one round really left behind, and what births tell; None if nothing.

    The list around the blocks is kept, too. ``samples`` are as many samples of equal weight as are
    as precise by the standard error that births tell.
    """

    beside: str
    true: int
    told: float | None
    samples: float
    steady: bool

    @property
    def miss(self) -> float:
        """How far the told rate is from the true one, as a share of it."""
        return abs((self.told or 0.0) - self.true) / self.true


def plays(number: int, rounds: int) -> Iterator[Play]:
    """Play each mixture ``number`` times."""
    for (size, block), left, (beside, code), seed in product(
        BLOCKS.items(), NUMBERS, BESIDE.items(), range(number)
    ):
        if size * left * rounds > 500_000_000:
            continue
        program = _PROGRAM.format(
            rounds=rounds, block=block, number=left, size=size, beside=code, seed=seed
        )
        done = subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True
        )
        yield Play(beside, *json.loads(done.stdout))


def table(played: Sequence[Play]) -> str:
    """Return the table of how near the rates come, and of what is seen at all."""
    rows = [
        "| samples of the leak | plays | median miss | within 10 % | within 25 % | steady |",
        "|---|---|---|---|---|---|",
    ]
    bounds = (6, 25, 100, 400, 10**9)
    for low, high in pairwise(bounds):
        some = [p for p in played if low <= p.samples < high]
        if some:
            rows.append(
                f"| {low} {f'to {high - 1}' if high < 10**9 else 'or more'} | {len(some)}"
                f" | {100 * statistics.median(p.miss for p in some):.1f} %"
                f" | {sum(p.miss <= 0.1 for p in some)} | {sum(p.miss <= 0.25 for p in some)}"
                f" | {sum(p.steady for p in some)} |"
            )
    rows += ["", "| beside | seen | smallest always seen, a round | largest unseen |"]
    rows += ["|---|---|---|---|"]
    for beside in BESIDE:
        some = [p for p in played if p.beside == beside]
        unseen = [p.true for p in some if p.told is None]
        seen = [p.true for p in some if p.told is not None and p.true > max(unseen, default=0)]
        rows.append(
            f"| {beside} | {len(some) - len(unseen)} of {len(some)}"
            f" | {min(seen, default=0):,} B | {max(unseen, default=0):,} B |"
        )
    return "\n".join(rows)


def main() -> None:
    """Play, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plays", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=60)
    asked = parser.parse_args()
    print(table(list(plays(asked.plays, asked.rounds))))


if __name__ == "__main__":
    main()
