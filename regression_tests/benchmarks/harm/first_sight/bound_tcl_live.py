"""Threads with C objects: a live Tcl interpreter of a worker, in a cycle, stays callable and dies in its thread."""

import threading
import time
import tkinter

from regression_tests.benchmarks.harm.stage import watched

NEEDS = ["tkinter"]
turn, done = threading.Semaphore(0), threading.Semaphore(0)
log: list[dict[str, int]] = []
answers: list[str] = []


class Window:
    def __init__(self) -> None:
        self.tcl = tkinter.Tcl()
        self.tcl.createcommand("report", self.report)  # the interpreter holds the window
        self.tcl.eval("set n 0")

    def report(self, n: str) -> str:
        answers.append(n)
        return n


def serve(rounds: int) -> None:
    window = Window()
    for _ in range(rounds):
        turn.acquire()
        window.tcl.eval("incr n; after 0 {set x 1}; update; report $n")
        done.release()
    window.tcl.tk.deletecommand("report")
    del window


def main() -> None:
    worker = threading.Thread(target=serve, args=(30,))
    worker.start()
    with watched() as guard:
        for number in guard.generations(range(30)):
            time.sleep(0.04)  # the work of a round
            turn.release()
            done.acquire()
            log.append({f"key{number}.{k}": k for k in range(300)})
    worker.join()
    print(" ".join(answers))


main()
