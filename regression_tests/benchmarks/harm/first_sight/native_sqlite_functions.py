"""C objects: SQLite functions, a trace and a lock of a file database work as alone, and the lock is given back."""

import sqlite3
import subprocess
import sys
import tempfile

from regression_tests.benchmarks.harm.stage import watched

OTHER = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)\ntry: c.execute('begin exclusive'); print('free')\nexcept sqlite3.OperationalError as e: print(e)"  # fmt: skip  # noqa: E501
statements: list[str] = []
calls = [0]


class Middle:
    def __init__(self) -> None:
        self.values: list[float] = []

    def step(self, value: float) -> None:
        calls[0] += 1
        self.values.append(value)

    def finalize(self) -> float:
        return sorted(self.values)[len(self.values) // 2]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/experiments.db"
        base = sqlite3.connect(path, isolation_level=None)
        base.create_aggregate("middle", 1, Middle)
        base.set_trace_callback(statements.append)
        base.execute("create table runs (score real)")
        told = []
        with watched() as guard:
            for number in guard.generations(range(20)):
                base.execute("begin exclusive")
                for k in range(100):
                    base.execute("insert into runs values (?)", (number * 100 + k,))
                if number % 5 == 0:
                    told.append(other(path))
                base.execute("commit")
                if number % 5 == 0:
                    told.append(other(path))
                told.append(str(base.execute("select middle(score) from runs").fetchone()[0]))
        base.close()
        print(told, calls, len(statements))


def other(path: str) -> str:
    return subprocess.run([sys.executable, "-S", "-E", "-c", OTHER, path], capture_output=True, text=True).stdout.strip()


main()
