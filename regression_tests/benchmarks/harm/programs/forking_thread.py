"""Children: a thread that forks while looks last must get children that can work.

What a lock of ours was in at the fork must not stay locked in the child.
"""

import gc
import os
import threading
import time

from regression_tests.benchmarks.harm.stage import watched


class Sample:
    pass


def forked(over):
    while not over.is_set():
        if (pid := os.fork()) == 0:
            signal_own_end()
            gc.collect()
            print("", end="", flush=True)
            os._exit(len([Sample() for _ in range(100)]) != 100)
        states.append(os.waitpid(pid, 0)[1])
        time.sleep(0.02)


def signal_own_end():
    """Let a child that hangs end by itself: its state is then not 0."""
    import signal

    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(20)


states = []
over = threading.Event()
thread = threading.Thread(target=forked, args=(over,))
thread.start()
ballast = [[number] for number in range(300_000)]
kept = []
with watched() as guard:
    for _ in guard.generations(range(12)):
        kept.extend(Sample() for _ in range(500))
        time.sleep(0.1)
over.set()
thread.join()
print("some failed" if any(states) else "all worked")
