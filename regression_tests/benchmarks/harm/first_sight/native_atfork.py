"""C objects: handlers of os.register_at_fork run for the program's own forks alone, and in its own children."""

import mmap
import os
import time

from regression_tests.benchmarks.harm.stage import watched

board = mmap.mmap(-1, 3)  # shared with whatever process comes from this one
cache: list[set[int]] = []


def count(at: int) -> None:
    board[at] += 1


def main() -> None:
    os.register_at_fork(
        before=lambda: count(0), after_in_parent=lambda: count(1), after_in_child=lambda: count(2)
    )
    with watched() as guard:
        for number in guard.generations(range(30)):
            time.sleep(0.04)  # the work of a round
            if number % 3 == 0:
                pid = os.fork()
                if pid == 0:
                    os._exit(0)
                os.waitpid(pid, 0)
            cache.extend({number, k} for k in range(500))
    print(list(board[:]))


main()
