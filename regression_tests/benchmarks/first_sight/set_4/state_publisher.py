"""Publishes the positions of a fleet as pickles, one message a generation."""

# /// truth
# about = """one pickle.Pickler for all messages: its memo keeps every object it ever wrote"""
# [[leak]]
# type = ["Position", "list", "dict", "tuple", "str", "bytes"]
# holder = ["pickler", "memo", "publisher"]
# phase = ["publish", "move"]
# start = 1
# ///
import io
import math
import os
import pickle
import random
import sys
import zlib

from leakguard import LeakGuard

CLEAR_MEMO = sys.argv[1] == "clean"
GENERATIONS = 400
VEHICLES = 120


class Position:
    """Where a vehicle was, with the last points of its way."""

    def __init__(self, vehicle: int, x: float, y: float, trail: list[tuple[float, float]]) -> None:
        self.vehicle = vehicle
        self.x = x
        self.y = y
        self.trail = trail


class Fleet:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.places = [(self.random.random(), self.random.random()) for _ in range(VEHICLES)]
        self.headings = [self.random.uniform(0.0, math.tau) for _ in range(VEHICLES)]

    def move(self) -> list[Position]:
        positions = []
        for vehicle in range(VEHICLES):
            x, y = self.places[vehicle]
            trail = []
            for _ in range(10):
                self.headings[vehicle] += self.random.gauss(0.0, 0.2)
                x = (x + 0.01 * math.cos(self.headings[vehicle])) % 1.0
                y = (y + 0.01 * math.sin(self.headings[vehicle])) % 1.0
                trail.append((x, y))
            self.places[vehicle] = (x, y)
            positions.append(Position(vehicle, x, y, trail[-3:]))
        return positions


class Publisher:
    """Writes one state after the other; the pickler is made once, since that is faster."""

    def __init__(self) -> None:
        self.buffer = io.BytesIO()
        self.pickler = pickle.Pickler(self.buffer, protocol=5)
        self.sent = 0

    def publish(self, positions: list[Position]) -> None:
        if CLEAR_MEMO:
            self.pickler.clear_memo()
        self.buffer.seek(0)
        self.buffer.truncate()
        self.pickler.dump(positions)
        self.sent += len(zlib.compress(self.buffer.getbuffer(), 6))


def main() -> None:
    fleet = Fleet(seed=9)
    publisher = Publisher()
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for _ in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("move"):
                for _ in range(8):
                    positions = fleet.move()
            with guard.phase("publish"):
                publisher.publish(positions)


if __name__ == "__main__":
    main()
