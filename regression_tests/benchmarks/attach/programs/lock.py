"""The main thread waits for a worker, which keeps its jobs or lets them go."""

import sys
import threading
import time


class Job:
    def __init__(self, number):
        self.number, self.log = number, ["x" * 30 for _ in range(40)]


class Worker(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.done = []

    def run(self):
        for number in range(10**9):
            self.done.append(Job(number))
            if sys.argv[1] != "leak":
                self.done.clear()
            time.sleep(0.001)


worker = Worker()
worker.start()
worker.join()
