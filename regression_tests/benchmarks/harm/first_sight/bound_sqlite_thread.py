"""Threads with C objects: SQLite connections that refuse other threads are used and closed by their own alone."""

import sqlite3
import sys
import threading
import time

from regression_tests.benchmarks.harm.stage import watched

told: list[str] = []
sys.unraisablehook = lambda what: told.append(str(what.exc_value))  # type: ignore[assignment]
barrier = threading.Barrier(4)
kept: list[list[tuple[int, str]]] = []
sums: dict[int, int] = {}


def worker(index: int, rounds: int) -> None:
    base = sqlite3.connect(":memory:")  # check_same_thread is on
    base.execute("create table seen (n integer, word text)")
    base.create_function("twice", 1, lambda n: 2 * n)
    for number in range(rounds):
        barrier.wait()
        with base:
            base.executemany("insert into seen values (?, ?)", [(number + k, f"w{k}") for k in range(50)])
        cursor = base.execute("select twice(n), word from seen order by rowid desc limit 200")
        kept.append(cursor.fetchmany(150))  # slowly, and leaves an open cursor behind
        sums[index] = base.execute("select sum(twice(n)) from seen").fetchone()[0]
        barrier.wait()
    base.close()


def main() -> None:
    threads = [threading.Thread(target=worker, args=(k, 25)) for k in range(3)]
    for thread in threads:
        thread.start()
    with watched() as guard:
        for _ in guard.generations(range(25)):
            time.sleep(0.04)  # the work of a round
            barrier.wait()
            barrier.wait()
    for thread in threads:
        thread.join()
    print(sorted(sums.items()), sum(map(len, kept)), told)


main()
