"""Self-measurement: tracemalloc that the program started itself traces on, with its depth, and loses no trace."""

import time
import tracemalloc

from regression_tests.benchmarks.harm.stage import watched

kept: list[bytearray] = []


def leak(number: int) -> None:
    kept.extend(bytearray(1000 + number) for _ in range(100))


def main() -> None:
    tracemalloc.start(7)
    first = bytearray(12_345)
    start = tracemalloc.take_snapshot()
    states = set()
    with watched() as guard:
        for number in guard.generations(range(30)):
            time.sleep(0.04)  # the work of a round
            leak(number)
            states.add((tracemalloc.is_tracing(), tracemalloc.get_traceback_limit()))
    end = tracemalloc.take_snapshot()
    mine = [tracemalloc.Filter(True, __file__)]
    grown = end.filter_traces(mine).compare_to(start.filter_traces(mine), "lineno")[0]
    trace = tracemalloc.get_object_traceback(first)
    print(states, grown.traceback[0].lineno, grown.size_diff > 3_000_000, trace is not None and trace[-1].lineno)
    old = tracemalloc.get_object_traceback(kept[0])
    print(old is not None and [frame.lineno for frame in old][-2:], tracemalloc.get_traced_memory()[0] > 3_000_000)


main()
