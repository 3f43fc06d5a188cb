"""Pipes: a child reads the end of its input as soon as its writer closes, though a look is taken by another thread."""

import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from regression_tests.benchmarks.harm.stage import event, measured, watched

LIMITS = {"slow_ends": (1.0, 0)}
heap = [{"k": k} for k in range(200_000)]
grown: list[dict[str, int]] = []
CHILD = "import sys; d = sys.stdin.buffer.read(); sys.stdout.write(str(len(d))); sys.stdout.close(); sys.stdin.close()"


def main() -> None:
    over = threading.Event()
    slow, oddities, turns = [0], [], [0]

    def feed() -> None:
        while not over.is_set():
            child = subprocess.Popen(
                [sys.executable, "-S", "-E", "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            assert child.stdin is not None and child.stdout is not None
            child.stdin.write(b"x" * 1000)
            time.sleep(0.02)
            child.stdin.close()
            try:
                child.wait(2.5)
            except subprocess.TimeoutExpired:
                slow[0] += 1
                child.wait()
            if (said := child.stdout.read()) != b"1000":
                oddities.append(said)
            child.stdout.close()
            turns[0] += 1

    with tempfile.TemporaryDirectory() as folder:
        for k in range(20):
            (Path(folder) / f"shard{k}").write_text("x")
        thread = threading.Thread(target=feed)
        thread.start()
        with watched() as guard:
            for number in guard.generations(range(12)):
                grown.extend({f"{number}": k} for k in range(3000))
                time.sleep(0.1)
                event("shards", len(list(Path(folder).iterdir())))
        over.set()
        thread.join()
    measured("slow_ends", slow[0])
    print(turns[0] > 3, oddities, Path(folder).exists())


main()
