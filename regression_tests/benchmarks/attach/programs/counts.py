"""Calm work; for each line of input it tells what it has: modules, threads, files, blocks."""

import os
import sys
import threading
import time


def resident():
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def tell():
    for _ in sys.stdin:
        print(
            len(sys.modules),
            len(os.listdir("/proc/self/task")),
            len(os.listdir("/proc/self/fd")),
            sys.getallocatedblocks(),
            resident(),
            len(globals()),
            flush=True,
        )


threading.Thread(target=tell, daemon=True).start()
while True:
    sum(range(1000))
    time.sleep(0.001)
