"""Compiles a query to Python source for each request and runs it over a table."""

# /// truth
# about = """generated source that is put into linecache under a name of its own, for readable
# tracebacks, and never taken out"""
# [[leak]]
# type = ["tuple", "list", "str"]
# holder = "cache"
# start = 1
# kind = "container"
# ///
import itertools
import linecache
import os
import random
import sys
from collections.abc import Callable

from leakguard import LeakGuard

DROP_SOURCE = sys.argv[1] == "clean"
GENERATIONS = 800
COLUMNS = ("price", "weight", "age", "rank", "stock")

numbers = itertools.count(1)


def source_of(conditions: list[tuple[str, str, float]]) -> str:
    lines = ["def query(rows):", "    found = []", "    for row in rows:"]
    for column, sign, limit in conditions:
        lines.append(f"        if not row[{column!r}] {sign} {limit!r}:")
        lines.append("            continue")
    lines += ["        found.append(row)", "    return found", ""]
    return "\n".join(lines)


class Query:
    """A compiled query; its source shows in tracebacks as long as the query is open."""

    def __init__(self, conditions: list[tuple[str, str, float]]) -> None:
        source = source_of(conditions)
        self.filename = f"<query {next(numbers)}>"
        lines = source.splitlines(keepends=True)
        linecache.cache[self.filename] = (len(source), None, lines, self.filename)
        namespace: dict[str, Callable] = {}
        exec(compile(source, self.filename, "exec"), namespace)
        self.run = namespace["query"]

    def close(self) -> None:
        if DROP_SOURCE:
            linecache.cache.pop(self.filename, None)


def make_table(draw: random.Random) -> list[dict[str, float]]:
    return [{column: draw.uniform(0.0, 100.0) for column in COLUMNS} for _ in range(8_000)]


def ask(draw: random.Random) -> list[tuple[str, str, float]]:
    signs = ("<", "<=", ">", ">=")
    conditions = []
    for _ in range(draw.randint(10, 14)):
        sign = draw.choice(signs)
        limit = draw.uniform(60.0, 99.0) if sign.startswith("<") else draw.uniform(1.0, 40.0)
        conditions.append((draw.choice(COLUMNS), sign, round(limit, 2)))
    return conditions


def main() -> None:
    draw = random.Random(11)
    table = make_table(draw)
    hits = 0
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for _ in guard.generations(range(1, GENERATIONS + 1)):
            for _ in range(6):
                query = Query(ask(draw))
                hits += len(query.run(table))
                query.close()


if __name__ == "__main__":
    main()
