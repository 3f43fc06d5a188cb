"""A service without threads: it keeps each request it has handled, or (calm) the last ones."""

import sys
import time


class Request:
    def __init__(self, number):
        self.values = [float(number)] * 50


class Service:
    def __init__(self):
        self.history = []

    def handle(self, number):
        self.history.append(Request(number))


def main():
    service, number, leaks = Service(), 0, sys.argv[1] == "leak"
    while True:
        for _ in range(3):
            service.handle(number)
            number += 1
        if not leaks:
            service.history.clear()
        time.sleep(0.03)


main()
