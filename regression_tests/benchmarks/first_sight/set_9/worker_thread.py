"""The work is done in a thread, and the main one sleeps until it is over."""
import sys
import threading
import time

KEEP = sys.argv[1] == "leak"


class Job:
    def __init__(self, number):
        self.number = number
        self.result = bytearray(10_000)


class Worker:
    def __init__(self):
        self.finished = []
        self.over = threading.Event()

    def work(self):
        for number in range(300):
            job = Job(number)
            time.sleep(0.01)
            self.finished.append(job)
            if not KEEP:
                self.finished.clear()
        self.over.set()


worker = Worker()
threading.Thread(target=worker.work, daemon=True).start()
while not worker.over.wait(2.0):
    pass
print("over")

# /// truth
# about = "jobs that a thread has finished are kept; the main thread waits for an event"
# [[leak]]
# type = ["Job", "bytearray"]
# holder = "finished"
# line = ["job = Job(number)", "self.result = bytearray(10_000)", "self.finished.append(job)"]
# ///
