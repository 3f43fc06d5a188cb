"""Counts pairs of tokens in shards on disk that are mapped into memory."""

# /// truth
# about = """a table of open memory maps whose key has the epoch in it, so that every epoch opens
# all shards anew and none is ever closed"""
# [[leak]]
# type = ["memmap", "mmap", "ndarray"]
# holder = ["open_shards", "_mmap"]
# phase = ["load", "count"]
# start = 2
# kind = ["files", "arrays", "memory"]
# ///
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

from leakguard import LeakGuard

SHARE_ACROSS_EPOCHS = sys.argv[1] == "clean"
EPOCHS = 160
SHARDS = 3
TOKENS = 120_000
VOCABULARY = 512


def write_shards(folder: Path) -> list[Path]:
    rng = np.random.default_rng(31)
    paths = []
    for number in range(SHARDS):
        tokens = rng.zipf(1.3, TOKENS) % VOCABULARY
        path = folder / f"shard{number}.bin"
        tokens.astype(np.uint16).tofile(path)
        paths.append(path)
    return paths


class ShardedTokens:
    """Opens a shard when it is asked for the first time."""

    def __init__(self, paths: list[Path]) -> None:
        self.paths = paths
        self.open_shards: dict[object, np.memmap] = {}

    def shard(self, epoch: int, number: int) -> np.memmap:
        key = number if SHARE_ACROSS_EPOCHS else (epoch, number)
        if key not in self.open_shards:
            self.open_shards[key] = np.memmap(self.paths[number], dtype=np.uint16, mode="r")
        return self.open_shards[key]


def count_pairs(tokens: np.ndarray, start: int, counts: np.ndarray) -> None:
    window = tokens[start : start + 60_000].astype(np.int64)
    pairs = window[:-1] * VOCABULARY + window[1:]
    counts += np.bincount(pairs, minlength=VOCABULARY * VOCABULARY)


def main() -> None:
    rng = np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as folder:
        data = ShardedTokens(write_shards(Path(folder)))
        counts = np.zeros(VOCABULARY * VOCABULARY, dtype=np.int64)
        guard = LeakGuard(out=os.environ["RUN_FILE"])
        with guard:
            for epoch in guard.generations(range(1, EPOCHS + 1)):
                with guard.phase("load"):
                    shards = [data.shard(epoch, number) for number in range(SHARDS)]
                with guard.phase("count"):
                    for tokens in shards:
                        for start in rng.integers(0, TOKENS // 2, 3):
                            count_pairs(tokens, int(start), counts)
                with guard.phase("rank"):
                    frequent = np.argpartition(counts, -100)[-100:]
                    assert counts[frequent].min() >= 0


if __name__ == "__main__":
    main()
