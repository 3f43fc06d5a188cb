"""Nightly jobs over the databases of tenants: each job has a scratch database beside them."""

# /// truth
# about = "sqlite connections of jobs that are over stay in the pool with their files"
# [[leak]]
# type = "Connection"
# holder = "connections"
# phase = "open"
# start = 1
# within = 3
# kind = ["files", "instances"]
# ///
import os
import random
import sqlite3
import sys
import tempfile

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = random.Random(13)


class Pool:
    def __init__(self, folder):
        self.folder = folder
        self.connections = {}

    def get(self, tenant, job):
        key = (tenant, job)
        if key not in self.connections:
            connection = sqlite3.connect(os.path.join(self.folder, f"{tenant}-{job}.db"))
            connection.execute("pragma synchronous = off")
            connection.execute("pragma journal_mode = memory")
            connection.execute("create table sale (day integer, item text, amount real)")
            connection.commit()
            self.connections[key] = connection
        return self.connections[key]

    def finish(self, tenant, job):
        if not LEAK:
            self.connections.pop((tenant, job)).close()
        os.unlink(os.path.join(self.folder, f"{tenant}-{job}.db"))


def main():
    total = 0.0
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with tempfile.TemporaryDirectory() as folder, guard:
        pool = Pool(folder)
        for job in guard.generations(range(1, 241)):
            tenant = f"tenant{job % 9}"
            with guard.phase("open"):
                connection = pool.get(tenant, job)
            with guard.phase("import"):
                rows = [(rng.randrange(365), f"item{rng.randrange(80)}", rng.random() * 50) for _ in range(2000)]
                with connection:
                    connection.executemany("insert into sale values (?, ?, ?)", rows)
            with guard.phase("aggregate"):
                query = "select item, sum(amount), avg(amount) from sale group by item order by 2 desc"
                total += sum(row[1] for row in connection.execute(query).fetchall())
            with guard.phase("finish"):
                pool.finish(tenant, job)
    print("total", round(total))


main()
