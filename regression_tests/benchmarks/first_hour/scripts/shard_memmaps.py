"""A data set of shards, each a memory-mapped file; every epoch writes new shards and the old maps stay open."""
import os
import sys
import tempfile
import numpy as np
from leakguard import LeakGuard

CLEAN = "clean" in sys.argv


class ShardStore:
    def __init__(self, folder):
        self.folder, self.open_shards = folder, {}

    def write(self, epoch, k):
        path = os.path.join(self.folder, f"{epoch}-{k}.bin")
        shard = np.memmap(path, dtype=np.float32, mode="w+", shape=(4_000, 64))
        shard[:] = np.random.rand(4_000, 64)
        self.open_shards[path] = shard

    def forget(self):
        for path in list(self.open_shards):
            del self.open_shards[path]
            os.unlink(path)

    def mean(self):
        return np.mean([shard.mean() for shard in self.open_shards.values()])


with tempfile.TemporaryDirectory() as folder:
    store = ShardStore(folder)
    guard = LeakGuard(out=f"shard_memmaps{'_clean' if CLEAN else ''}.jsonl")
    with guard:
        for epoch in guard.generations(range(10)):
            with guard.phase("write_shards"):
                for k in range(3):
                    store.write(epoch, k)
            with guard.phase("statistics"):
                store.mean()
            if CLEAN:
                store.forget()
