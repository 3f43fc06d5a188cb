"""Play one function of LeakBench under the guard as it comes, in a process of its own.

python -m regression_tests.corpus.play_function SET NAME leak|clean OUT
"""

from __future__ import annotations

import os
import sys

from leakguard import LeakGuard
from regression_tests.benchmarks.leakbench.program import PROGRAMS, open_set


def main(group: str, name: str, side: str, out: str) -> None:
    """Play a function of the set ``group``; the run is in the file ``out``."""
    open_set(group)
    program = PROGRAMS[name]
    with LeakGuard(out=out) as guard:
        program.main(guard, *((side == "leak",) if program.truths else ()))


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # threads that a program left waiting do not hold it up
