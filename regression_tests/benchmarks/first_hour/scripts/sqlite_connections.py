"""Experience kept in sqlite: a connection per shard, cached per (thread, shard path). Run untouched."""
import os
import random
import sqlite3
import sys
import tempfile
import threading

CLEAN = "clean" in sys.argv


class Store:
    def __init__(self, root):
        self.root = root
        self._conns = {}

    def conn(self, shard):
        key = (threading.get_ident(), shard)
        if key not in self._conns:
            db = sqlite3.connect(os.path.join(self.root, f"{shard}.db"))
            db.execute("create table if not exists t (k integer primary key, reward real, obs blob)")
            self._conns[key] = db
        return self._conns[key]

    def write(self, shard, rows):
        with self.conn(shard) as db:
            db.executemany("insert into t(reward, obs) values (?, ?)", rows)

    def mean(self, shard):
        return self.conn(shard).execute("select avg(reward), sum(length(obs)) from t").fetchone()

    def done(self, shard):
        if CLEAN:
            self._conns.pop((threading.get_ident(), shard)).close()
        os.unlink(os.path.join(self.root, f"{shard}.db"))


def collect(store, number):
    shard = f"rollout-{number:04d}"
    store.write(shard, [(random.random(), os.urandom(2000)) for _ in range(700)])
    result = store.mean(shard)
    store.done(shard)
    return result


def main():
    with tempfile.TemporaryDirectory() as root:
        store = Store(root)
        for number in range(80):
            mean, size = collect(store, number)
        print(f"{mean:.3f} {size}")


if __name__ == "__main__":
    main()
