"""Threads: a handle of a C library, as those of CUDA, may only be freed where it was made."""

import ctypes
import os
import threading
import time

from regression_tests.benchmarks.harm.stage import watched

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]


class Sample:
    pass


class Handle:
    def __init__(self):
        self.pointer, self.thread = libc.malloc(64), threading.get_native_id()

    def __del__(self):
        if threading.get_native_id() != self.thread:
            os.write(2, b"freed by a foreign thread\n")
            os.abort()
        libc.free(self.pointer)


def handles(over):
    while not over.is_set():
        handle = Handle()
        time.sleep(0.0003)
        del handle


over = threading.Event()
thread = threading.Thread(target=handles, args=(over,))
thread.start()
ballast = [[number] for number in range(200_000)]
kept = []
with watched() as guard:
    for _ in guard.generations(range(10)):
        kept.extend(Sample() for _ in range(500))
        time.sleep(0.1)
over.set()
thread.join()
print("done")
