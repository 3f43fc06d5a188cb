"""Contexts: thread locals are destroyed with their thread, at once and in it, and counted nowhere else."""

import mmap
import os
import threading
import time
from typing import Any

from regression_tests.benchmarks.harm.stage import watched

board = mmap.mmap(-1, 4096)
local = threading.local()
order: list[str] = []
misfits: list[str] = []
jobs: list[tuple[int, str]] = []


class Connection:
    def __init__(self, name: str) -> None:
        self.name, self.thread = name, threading.get_ident()

    def __del__(self) -> None:
        board[0] = (board[0] + 1) % 256
        order.append(self.name)
        if self.thread != threading.get_ident():
            misfits.append(self.name)


def work(name: str) -> None:
    local.connection = Connection(name)
    local.cache = {name: [local.connection.name]}


def main() -> None:
    counts = []
    with watched() as guard:
        for number in guard.generations(range(30)):
            time.sleep(0.04)  # the work of a round
            for k in range(4):
                thread = threading.Thread(target=work, args=(f"{number}.{k}",))
                thread.start()
                thread.join()
                del thread
            counts.append(len(order))
            jobs.extend((number, f"{k}") for k in range(1500))
    print(counts == [4 * n for n in range(1, 31)], board[0], misfits, order[:5], os.getpid() > 0)


main()
