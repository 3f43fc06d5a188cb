"""Threads with C objects: handles of malloc are freed once, by the thread that took them, in no other process."""

import ctypes
import mmap
import os
import struct
import threading
import time

from regression_tests.benchmarks.harm.stage import watched

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
shared = mmap.mmap(-1, 16)  # seen by every process that comes from this one
wrong: list[str] = []
cache: list[bytearray] = []
HOME = os.getpid()


class Handle:
    def __init__(self) -> None:
        self.at, self.thread = libc.malloc(4096), threading.get_ident()
        self.ring = [self]

    def close(self) -> None:
        self.ring.clear()

    def __del__(self) -> None:
        shared[:8] = struct.pack("q", struct.unpack("q", shared[:8])[0] + 1)
        if os.getpid() != HOME:
            shared[8:] = struct.pack("q", 1)
        if self.thread != threading.get_ident():
            wrong.append("freed by another thread")
        libc.free(self.at)


def work(go: threading.Semaphore, done: threading.Semaphore, rounds: int) -> None:
    for _ in range(rounds):
        go.acquire()
        handles = [Handle() for _ in range(200)]
        done.release()
        go.acquire()
        for handle in handles:
            handle.close()
        del handles, handle
        done.release()


def main() -> None:
    go, done = threading.Semaphore(0), threading.Semaphore(0)
    thread = threading.Thread(target=work, args=(go, done, 15))
    thread.start()
    with watched() as guard:
        for _ in guard.generations(range(30)):  # every other one ends while handles are live
            time.sleep(0.04)  # the work of a round
            go.release()
            done.acquire()
            cache.append(bytearray(30_000))
    thread.join()
    print(struct.unpack("qq", shared[:]), wrong)


main()
