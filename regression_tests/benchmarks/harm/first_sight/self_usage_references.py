"""Self-measurement: counts of references, of children's time and of freed blocks are those of the program alone."""

import resource
import sys
import time

from regression_tests.benchmarks.harm.stage import measured, watched

LIMITS = {"children_cpu_s": (1.0, 0.05)}
entries: list[tuple[int, ...]] = []


class Holder:
    def __init__(self) -> None:
        self.value = [1, 2, 3]


def main() -> None:
    holder, counts, cleared = Holder(), set(), 0
    with watched() as guard:
        for number in guard.generations(range(40)):
            time.sleep(0.04)  # the work of a round
            counts.add((sys.getrefcount(holder), sys.getrefcount(holder.value), sys.getrefcount(Holder)))
            entries.extend((number, k) for k in range(2000))
            big = [holder] * 100
            counts.add((sys.getrefcount(holder) - 100, sys.getrefcount(holder.value), sys.getrefcount(Holder)))
            big.clear()
            cleared += sys.getrefcount(big) == 2
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    measured("children_cpu_s", usage.ru_utime + usage.ru_stime)
    print(counts, cleared)


main()
