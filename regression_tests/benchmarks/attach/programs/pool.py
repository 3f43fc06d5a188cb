"""A pool of processes; the parent keeps all results, or the last ones."""

import itertools
import multiprocessing
import sys
import time


class Result:
    def __init__(self, number):
        self.number, self.table = number, {key: float(key) for key in range(40)}


def work(number):
    return [Result(number) for _ in range(10)]


def main():
    results = []
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for number in itertools.count():
            results += pool.apply(work, (number,))
            if sys.argv[1] != "leak" and len(results) > 50:
                results.clear()
            time.sleep(0.02)


main()
