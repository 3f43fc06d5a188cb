"""A small log-structured store: writes go to a table in memory, every 40 rounds it is written out sorted, and
tables are merged into one file. An index keeps every 50th key."""

# /// truth
# about = "a memtable that is flushed to a file every 40 rounds"
# ///
import json
import os
import random
import sys
import tempfile

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = random.Random(37)
KEYS = [f"user:{number:05d}" for number in range(6000)]


class Store:
    def __init__(self, folder):
        self.path = os.path.join(folder, "table.jsonl")
        open(self.path, "w").close()
        self.memtable = {}
        self.index = []
        self.flushes = 0

    def put(self, key, value):
        self.memtable.setdefault(key, []).append(value)

    def get(self, key):
        return self.memtable.get(key, ())

    def flush(self):
        merged = {}
        with open(self.path) as file:
            for line in file:
                key, last = json.loads(line)
                merged[key] = last
        for key, values in self.memtable.items():
            merged[key] = values[-1]
        with open(self.path, "w") as file:
            self.index = []
            for position, key in enumerate(sorted(merged)):
                if position % 50 == 0:
                    self.index.append((key, file.tell()))
                file.write(json.dumps([key, merged[key]]) + "\n")
        self.memtable.clear()
        self.flushes += 1


def main():
    found = 0
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with tempfile.TemporaryDirectory() as folder, guard:
        store = Store(folder)
        for round_ in guard.generations(range(1, 421)):
            with guard.phase("write"):
                for _ in range(400):
                    event = {"at": round_, "what": rng.choice("abcdef") * 20, "value": rng.random()}
                    store.put(rng.choice(KEYS), event)
            with guard.phase("read"):
                for _ in range(12000):
                    found += len(store.get(rng.choice(KEYS)))
            if round_ % 40 == 0:
                with guard.phase("flush"):
                    store.flush()
    print("found", found, "flushes", store.flushes)


main()
