"""Cycles are made and collected all the time; each round one is kept, or none."""

import gc
import sys
import time


class Node:
    def __init__(self):
        self.other, self.room = self, [None] * 60


registry = {}


def main():
    alive = [Node() for _ in range(100_000)]
    for number in range(10**9):
        for _ in range(50):
            Node()
        if sys.argv[1] == "leak":
            registry.update({(number, extra): Node() for extra in range(20)})
        gc.collect()
        time.sleep(0.001)
    return alive


main()
