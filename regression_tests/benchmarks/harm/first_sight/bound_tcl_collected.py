"""Threads with C objects: cyclic garbage of a worker's Tcl interpreters waits for that worker, as gc.disable() says."""

import gc
import threading
import time
import tkinter

from regression_tests.benchmarks.harm.stage import watched

NEEDS = ["tkinter"]
go, done = threading.Semaphore(0), threading.Semaphore(0)


class Screen:
    def __init__(self) -> None:
        self.tcl = tkinter.Tcl()
        self.me = self  # freed by another thread, Tcl ends the process


def draw() -> None:
    for _ in range(40):
        go.acquire()
        Screen()
        done.release()
    gc.collect()


def main() -> None:
    gc.disable()
    worker = threading.Thread(target=draw)
    worker.start()
    with watched() as guard:
        for _ in guard.generations(range(40)):
            go.release()
            done.acquire()
            time.sleep(0.03)
    worker.join()
    print("lived")


main()
