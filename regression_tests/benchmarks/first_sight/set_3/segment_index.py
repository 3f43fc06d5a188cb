"""Experience is written in segments of 9 MB that are flushed every twelfth round."""

# /// truth
# about = "a small record a round stays under a saw tooth of 9 MB that is flushed every 12 rounds"
# [[leak]]
# type = "Segment"
# holder = ["index", "Writer"]
# phase = "record"
# start = 1
# within = 12
# ///
import hashlib
import os
import sys
import tempfile

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = np.random.default_rng(17)


class Segment:
    def __init__(self, number: int, rows: int, digest: str) -> None:
        self.number, self.rows, self.digest = number, rows, digest
        self.offsets = list(range(number * 1_000, number * 1_000 + rows))


class Writer:
    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.pending: list[np.ndarray] = []
        self.index: list[Segment] = []

    def record(self, number: int, rows: np.ndarray) -> None:
        self.pending.append(rows)
        self.index.append(Segment(number, len(rows), hashlib.sha256(rows.tobytes()).hexdigest()))

    def flush(self) -> None:
        with open(os.path.join(self.folder, "segment.bin"), "wb") as file:
            for rows in self.pending:
                file.write(rows.tobytes())
        self.pending.clear()
        if not LEAK:
            self.index.clear()


guard = LeakGuard(out=os.environ["RUN_FILE"])
with tempfile.TemporaryDirectory() as folder, guard:
    writer = Writer(folder)
    for number in guard.generations(range(1, 253)):
        with guard.phase("play"):
            rows = np.cumsum(rng.standard_normal((300, 320)), axis=0)
        with guard.phase("record"):
            writer.record(number, rows)
        with guard.phase("flush"):
            if number % 12 == 0:
                writer.flush()
