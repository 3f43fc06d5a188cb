"""Read mutated inputs of each kind: ``python -m regression_tests.benchmarks.fuzz``.

Every input must be read or refused in one line, in less than a second a megabyte, and without
more memory than its size explains. The inputs that once were not are in
``regression_tests/unit/store/found_by_fuzzing``, which the suite reads.
"""

from __future__ import annotations

import argparse
import gc
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

from regression_tests.benchmarks.fuzz.targets import READERS, seeds
from regression_tests.benchmarks.fuzz.trial import failures

_IN_MEMORY = Path("/dev/shm")  # where a file costs no disk


def main() -> int:
    """Try many inputs, print each failure once by its reason, and keep its input."""
    given = _parser().parse_args()
    seeds()
    gc.freeze()  # modules and good inputs: nothing that a collection need look at
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(dir=_IN_MEMORY if _IN_MEMORY.is_dir() else None) as folder:
        path, kinds = Path(folder) / "input", given.kind or (*READERS,)
        for failure in failures(given.examples, given.seed, path, kinds, given.seconds):
            reason = re.sub(r"\d+", "N", failure.reason.splitlines()[-1])
            seen[reason] += 1
            if seen[reason] == 1:
                print(f"{failure.kind}: {failure.reason}\n{failure.data[:200]!r}\n", flush=True)
                if given.keep is not None:
                    given.keep.mkdir(parents=True, exist_ok=True)
                    (given.keep / f"{failure.kind} {len(seen)}").write_bytes(failure.data)
    print(f"{sum(seen.values())} failed")
    return int(bool(seen))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=10_000, help="of each kind")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="of CPU, for each kind")
    parser.add_argument(
        "--kind", action="append", choices=READERS, help="only this one; repeatable"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for the inputs that failed")
    return parser


if __name__ == "__main__":
    sys.exit(main())
