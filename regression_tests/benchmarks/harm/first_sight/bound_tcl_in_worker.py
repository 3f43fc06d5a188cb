"""Threads with C objects: a Tcl interpreter belongs to the worker that made it; its cyclic garbage dies there."""

import gc
import queue
import threading
import tkinter
from typing import Any

from regression_tests.benchmarks.harm.stage import watched

NEEDS = ["tkinter"]
HOW = ["api"]
jobs: "queue.Queue[int | None]" = queue.Queue()
answers: "queue.Queue[str]" = queue.Queue()
history: list[list[str]] = []


class Screen:
    def __init__(self) -> None:
        self.tcl = tkinter.Tcl()
        self.me = self  # a cycle: only a collection frees it, and only this thread may run one


def draw() -> None:
    while (job := jobs.get()) is not None:
        screen = Screen()
        answers.put(screen.tcl.eval(f"expr {{{job} * 7}}"))
        del screen
        if job % 4 == 3:
            gc.collect()
            answers.put("collected")
    gc.collect()


def main() -> None:
    gc.disable()
    worker = threading.Thread(target=draw)
    worker.start()
    with watched(collect="never") as guard:
        for number in guard.generations(range(24)):
            jobs.put(number)
            said: list[Any] = [answers.get()]
            if number % 4 == 3:
                said.append(answers.get())
            history.append([f"{number}-{k}" for k in range(400)])
            print(number, *said)
    jobs.put(None)
    worker.join()
    print("over", len(history))


main()
