"""Limits: in a working folder that is gone, with a temporary folder that is read-only, nothing is left or raised."""

import os
import shutil
import tempfile
import time

from regression_tests.benchmarks.harm.stage import watched

results: list[dict[str, float]] = []


def main() -> None:
    folder = tempfile.mkdtemp()
    locked = tempfile.mkdtemp()
    os.chmod(locked, 0o500)
    os.environ["TMPDIR"] = locked
    tempfile.tempdir = None
    with watched() as guard:
        os.chdir(folder)
        shutil.rmtree(folder)
        for number in guard.generations(range(25)):
            time.sleep(0.04)  # the work of a round
            results.extend({f"r{number}.{k}": 1.0} for k in range(1000))
        try:
            print(os.getcwd())
        except FileNotFoundError:
            print("gone")
        print(os.listdir(locked), os.environ["TMPDIR"] == locked)
    os.chmod(locked, 0o700)
    shutil.rmtree(locked)
    os.chdir("/")


main()
