"""A store that collects writes in memory and flushes them to a file every 25 generations."""

# /// truth
# about = """versions of keys that stay after their write was acknowledged, where a client wrote
# without waiting; a slow growth below the sawtooth of the buffer"""
# [[leak]]
# type = ["Version", "dict", "str"]
# holder = "versions"
# phase = "write"
# start = 1
# ///
import hashlib
import json
import os
import random
import sys
import tempfile
import zlib
from pathlib import Path

from leakguard import LeakGuard

FORGET_UNAWAITED = sys.argv[1] == "clean"
GENERATIONS = 450
FLUSH_EVERY = 25


class Version:
    """Which write of a key is on its way, to order those that overtake each other."""

    __slots__ = ("client", "key", "number")

    def __init__(self, key: str, number: int, client: int) -> None:
        self.key = key
        self.number = number
        self.client = client


class Store:
    def __init__(self, folder: Path) -> None:
        self.file = folder / "segment.json.z"
        self.memtable: dict[str, dict] = {}
        self.versions: dict[str, Version] = {}
        self.number = 0

    def write(self, key: str, value: dict, client: int, wait: bool) -> None:
        self.number += 1
        self.versions[key] = Version(key, self.number, client)
        self.memtable[key] = value
        if wait or FORGET_UNAWAITED:
            self.acknowledge(key)

    def acknowledge(self, key: str) -> None:
        version = self.versions.pop(key)
        assert version.key == key

    def flush(self) -> int:
        """Writes the sorted table; the segment before it has been merged elsewhere."""
        text = json.dumps(sorted(self.memtable.items()))
        self.memtable = {}
        return self.file.write_bytes(zlib.compress(text.encode(), 1))


def measurement(draw: random.Random) -> dict:
    values = [round(draw.gauss(20.0, 5.0), 3) for _ in range(24)]
    digest = hashlib.blake2b(repr(values).encode(), digest_size=8).hexdigest()
    return {"values": values, "digest": digest, "mean": sum(values) / len(values)}


def main() -> None:
    draw = random.Random(29)
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with tempfile.TemporaryDirectory() as folder, guard:
        store = Store(Path(folder))
        for generation in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("write"):
                for slot in range(170):
                    key = f"sensor{slot:03d}/{generation:05d}"
                    store.write(key, measurement(draw), client=slot % 7, wait=slot % 12 != 0)
            if generation % FLUSH_EVERY == 0:
                with guard.phase("flush"):
                    store.flush()


if __name__ == "__main__":
    main()
