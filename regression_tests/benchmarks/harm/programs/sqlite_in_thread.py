"""Threads: SQLite connections that their thread drops must be closed there, and at once."""

import os
import sqlite3
import threading
import time

from regression_tests.benchmarks.harm.stage import watched


class Sample:
    pass


class Store:
    def __init__(self):
        self.connection = sqlite3.connect("data.db", timeout=0.2)

    def __del__(self):
        try:
            self.connection.close()
        except sqlite3.ProgrammingError as error:
            wrong.append(str(error).partition(".")[0])


def connections(over):
    while not over.is_set():
        store = Store()
        with store.connection as connection:
            connection.execute("create table if not exists seen (number)")
            connection.execute("delete from seen")
        del connection
        del store
        time.sleep(0.0005)


wrong = []
over = threading.Event()
thread = threading.Thread(target=connections, args=(over,))
thread.start()
ballast = [[number] for number in range(200_000)]
kept = []
with watched() as guard:
    for _ in guard.generations(range(10)):
        kept.extend(Sample() for _ in range(500))
        time.sleep(0.1)
over.set()
thread.join()
os.unlink("data.db")  # how often it was written to is no matter
print("wrong:", sorted(set(wrong)))
