"""C objects: a tool that a thread writes, closes and starts at once is never busy, and its lock is free when closed."""

import fcntl
import os
import shutil
import subprocess
import tempfile
import threading
import time

from regression_tests.benchmarks.harm.stage import measured, watched

LIMITS = {"busy": (1.0, 0), "locked": (1.0, 0)}
heap = [(k, [k]) for k in range(200_000)]
grows: list[list[int]] = []


def main() -> None:
    over = threading.Event()
    busy, locked, starts = [0], [0], [0]
    tool = shutil.which("true") or "/bin/true"
    with open(tool, "rb") as file:
        text = file.read()

    def deploy(folder: str) -> None:
        while not over.is_set():
            path = f"{folder}/tool{starts[0]}"
            with open(path, "wb") as out:
                out.write(text)
                os.fchmod(out.fileno(), 0o755)
                time.sleep(0.005)  # as long as writing a larger one takes
            try:
                subprocess.run([path], check=True)
            except OSError:
                busy[0] += 1
            os.unlink(path)
            with open(f"{folder}/lock", "w") as first:
                fcntl.flock(first, fcntl.LOCK_EX)
                time.sleep(0.002)
            with open(f"{folder}/lock", "w") as second:
                try:
                    fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    locked[0] += 1
            starts[0] += 1

    with tempfile.TemporaryDirectory() as folder:
        thread = threading.Thread(target=deploy, args=(folder,))
        thread.start()
        with watched() as guard:
            for number in guard.generations(range(12)):
                grows.extend([number, k] for k in range(3000))
                time.sleep(0.1)
        over.set()
        thread.join()
    measured("busy", busy[0])
    measured("locked", locked[0])
    print(starts[0] > 10)


main()
