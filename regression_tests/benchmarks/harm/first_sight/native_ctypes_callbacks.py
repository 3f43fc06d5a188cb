"""C objects: callbacks that C calls, and text that C's stdio has not written yet, come once."""

import ctypes
import time
from typing import Any

from regression_tests.benchmarks.harm.stage import watched

libc = ctypes.CDLL(None)
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
FORK = ctypes.CFUNCTYPE(None)
kept: list[Any] = []
calls = [0]


def order(a: Any, b: Any) -> int:
    calls[0] += 1
    return int(a[0] - b[0])


def main() -> None:
    sums = []
    with watched() as guard:
        for number in guard.generations(range(30)):
            time.sleep(0.04)  # the work of a round
            numbers = (ctypes.c_int * 200)(*[(k * 7919 + number) % 1009 for k in range(200)])
            compare = COMPARE(order)
            libc.qsort(numbers, 200, ctypes.sizeof(ctypes.c_int), compare)
            sums.append(numbers[100])
            kept.extend(COMPARE(order) for _ in range(40))  # every callback has a page of code
            libc.printf(b"line %d of the C library, which writes when it likes\n", number)
    libc.fflush(None)
    print(sums, calls[0] > 10_000, len(kept))


main()
