"""CPU time of a loop, watched and traced, against the same loop left alone.

``python -m regression_tests.benchmarks.overhead -o reports/overhead`` trains under the default
guard, memray, tracemalloc with one frame and with ten. Beside each, at the same time on the same
core, the same loop trains alone with the same data and seed; they take turns every few
milliseconds and begin each generation together, one a moment before the other and in turns, so
whatever slows the machine slows both, and each has work of the same kind beside it. CPU time is
compared, not wall time, that of the copies in which looks happen included. What this leaves of
noise is told by the loop alone beside itself.

As the command does, both let the C allocator keep what is freed. With ``--give-back`` it gives it
back as it likes: chance decides how often, and the page faults of taking it again move two equal
trainings apart by one or two percent.

The default guard spends a fixed part of a second on its first looks, so the ratio depends on how
long a generation is: ``--size full`` trains at the sizes of the original trainer,
where one takes three times as long as the seconds of ``small``. ``--size objects`` is another loop:
over three million objects, which a look takes long to walk. ``--size short`` has generations of
50 ms over a hundred thousand objects. Its file is named after how many generations there are.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from regression_tests.benchmarks.overhead.loop import LOOPS
from regression_tests.benchmarks.overhead.pairs import Pairs, Plan, measure
from regression_tests.benchmarks.overhead.stopwatch import Measured
from regression_tests.benchmarks.overhead.table import table
from regression_tests.benchmarks.overhead.variants import VARIANTS

# Every generation of the guard counts; of a tracer a few are as good as forty.
_TRACED_GENERATIONS = 4
_TRACERS = ("memray", "tracemalloc-1", "tracemalloc-10")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generations", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=1, help="of two pairs each")
    parser.add_argument("-o", "--out", type=Path, help="folder; keeps what it has of the others")
    parser.add_argument("--size", choices=LOOPS, default="small")
    parser.add_argument("--variant", choices=VARIANTS, action="append", help="all unless given")
    parser.add_argument("--give-back", action="store_true", help="of the C allocator, as it likes")
    options = parser.parse_args()
    name = f"{options.size}-give-back" if options.give_back else options.size
    name = f"{name}-{options.generations}" if options.size == "short" else name
    told = _kept(options.out / f"{name}.json") if options.out else {}
    for variant in options.variant or VARIANTS:
        traced = variant in _TRACERS and options.size != "short"
        count = _TRACED_GENERATIONS if traced else options.generations
        plan = Plan(options.size, count, options.give_back)
        for pairs in measure(variant, plan, options.rounds):
            told[variant] = pairs
            print(variant, *(f"{ratio:.3f}" for ratio in pairs.ratios), file=sys.stderr, flush=True)
            if options.out:
                _write(options.out, name, told)
    print(table(told))


def _kept(path: Path) -> dict[str, Pairs]:
    """Return what was measured before: the variants may be measured one by one."""
    if not path.exists():
        return {}
    return {
        variant: Pairs(
            **{side: [Measured(**one) for one in loops] for side, loops in pairs.items()}
        )
        for variant, pairs in json.loads(path.read_text("utf-8")).items()
    }


def _write(folder: Path, name: str, told: Mapping[str, Pairs]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(table(told) + "\n", encoding="utf-8")
    measured = json.dumps({variant: asdict(pairs) for variant, pairs in told.items()}, indent=1)
    (folder / f"{name}.json").write_text(measured, encoding="utf-8")


if __name__ == "__main__":
    main()
