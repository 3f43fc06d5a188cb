"""Limits: a guard that begins where the working folder is gone, and is given no file, raises nothing into the loop."""

import os
import shutil
import tempfile
import time

from regression_tests.benchmarks.harm.stage import watched

results: list[list[int]] = []


def main() -> None:
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    shutil.rmtree(folder)
    with watched(out=None) as guard:
        for number in guard.generations(range(25)):
            results.extend([number, k] for k in range(1000))
            time.sleep(0.04)
    print("end")


main()
