"""Dropped things: a listening socket that was dropped must have left its address."""

import socket
import threading
import time
import warnings

from regression_tests.benchmarks.harm.stage import watched

warnings.simplefilter("ignore", ResourceWarning)


class Sample:
    pass


class Server:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_INET)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(path)
        self.socket.listen()


def servers(over, refused, address):
    while not over.is_set():
        try:
            server = Server(address)
            time.sleep(0.0003)
            del server
        except OSError as error:
            refused.append(error.strerror)


with socket.socket(socket.AF_INET) as free:
    free.bind(("127.0.0.1", 0))
    address = free.getsockname()
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
