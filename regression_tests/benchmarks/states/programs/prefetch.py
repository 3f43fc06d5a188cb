"""A loop that ended early: the thread that loads batches waits before a full queue."""

import queue
import threading
import time

import numpy


class Loader:
    """Loads batches ahead of the loop that takes them."""

    def __init__(self, depth):
        self.ready = queue.Queue(maxsize=depth)
        threading.Thread(target=self.fill, daemon=True).start()

    def fill(self):
        """Load batches until the program ends."""
        number = 0
        while True:
            self.ready.put(numpy.full(1_000_000, float(number)))
            number += 1


loader = Loader(10)
first = loader.ready.get()[0].item()
while not loader.ready.full():
    time.sleep(0.01)
time.sleep(0.2)
