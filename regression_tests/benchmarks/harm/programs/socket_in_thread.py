"""Dropped things: a listening socket that was dropped must have left its address."""

import os
import socket
import threading
import time
import warnings

from regression_tests.benchmarks.harm.stage import watched

warnings.simplefilter("ignore", ResourceWarning)


class Sample:
    pass


class Server:
    def __init__(self, address):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(address)
        self.socket.listen()


def servers(over, refused, address):
    while not over.is_set():
        try:
            server = Server(address)
            time.sleep(0.0003)
            del server
        except OSError as error:
            refused.append(error.strerror)


address = f"\0harm {os.getpid()}"  # it has no file, and is free once nothing is bound to it
over, refused = threading.Event(), []
thread = threading.Thread(target=servers, args=(over, refused, address))
thread.start()
ballast = [[number] for number in range(300_000)]
kept = []
with watched() as guard:
    for _ in guard.generations(range(10)):
        kept.extend(Sample() for _ in range(500))
        time.sleep(0.1)
over.set()
thread.join()
print("refused:", sorted(set(refused)))
