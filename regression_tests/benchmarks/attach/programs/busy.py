"""Four threads that compute without a pause, in Python and in C; one of them keeps what it made."""

import sys
import threading
import zlib


class Chunk:
    def __init__(self, data):
        self.data = data


kept = []


def compute():
    total = 0
    while True:
        total += sum(range(10_000))


def compress():
    data = bytes(range(256)) * 4_000
    while True:
        zlib.compress(data)


def keep():
    data = bytes(range(256)) * 8
    while True:
        for _ in range(20):
            chunk = Chunk(zlib.compress(data) * 10)
            if sys.argv[1] == "leak":
                kept.append(chunk)
        zlib.compress(data * 2_000)


for target in (compute, compress, compress):
    threading.Thread(target=target, daemon=True).start()
keep()
