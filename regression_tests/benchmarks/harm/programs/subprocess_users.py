"""Children: what a program starts must get its pipes, descriptors and environment, and no more."""

import os
import subprocess
import sys
import time

from regression_tests.benchmarks.harm.stage import event, watched

CODE = """
import os, sys
names = sorted(os.listdir("/proc/self/fd"), key=int)
told = sorted(name for name in os.environ if "LEAKGUARD_" in name)
print(len(names), told, sys.stdin.read())
"""


class Sample:
    pass


kept = []
with watched() as guard:
    for number in guard.generations(range(12)):
        kept.extend(Sample() for _ in range(500))
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", CODE], input=str(number), capture_output=True,
            text=True, close_fds=number % 2 == 0,
        )  # fmt: skip
        event(done.returncode, done.stdout, done.stderr)
        reading, writing = os.pipe()
        if (pid := os.fork()) == 0:
            os.write(writing, b"from the child")
            os._exit(0)
        os.close(writing)
        event(os.read(reading, 100), os.read(reading, 100), os.waitpid(pid, 0)[1])
        os.close(reading)
        time.sleep(0.03)
