import heapq
import itertools
import random
import sys
import weakref
from collections import deque

MODE = sys.argv[1]
rng = random.Random(17)


class Timer:
    __slots__ = ("when", "seq", "action", "live")

    def __init__(self, when, seq, action):
        self.when, self.seq, self.action, self.live = when, seq, action, True

    def __lt__(self, other):
        return (self.when, self.seq) < (other.when, other.seq)


class Clock:
    def __init__(self):
        self.now = 0.0
        self.agenda = []
        self.seq = itertools.count()

    def at(self, delay, action):
        timer = Timer(self.now + delay, next(self.seq), action)
        heapq.heappush(self.agenda, timer)
        return timer

    def cancel(self, timer):
        timer.live = False
        if MODE == "fixed":
            timer.action = None
            if sum(not t.live for t in self.agenda) > 40:
                self.agenda = [t for t in self.agenda if t.live]
                heapq.heapify(self.agenda)

    def run_until(self, end):
        while self.agenda and self.agenda[0].when <= end:
            timer = heapq.heappop(self.agenda)
            self.now = timer.when
            if timer.live:
                timer.action()
        self.now = end


class Parcel:
    def __init__(self, number):
        self.number = number
        self.label = f"{number:08d}" * 40
        self.trace = [rng.random() for _ in range(40)]


class Route:
    def __init__(self, parcel, stops):
        self.parcel = weakref.proxy(parcel) if MODE == "fixed" else parcel
        self.stops = stops

    def length(self):
        return sum(abs(a - b) for a, b in zip(self.stops, self.stops[1:])) + self.parcel.number % 3


class CartPool:
    """Carts are reused; at most sixty are built."""

    def __init__(self):
        self.idle = []
        self.built = 0

    def take(self):
        if not self.idle and self.built < 60:
            self.built += 1
            self.idle.append(bytearray(8_000))
        return self.idle.pop() if self.idle else None

    def give(self, cart):
        if cart is not None:
            self.idle.append(cart)


class Floor:
    def __init__(self):
        self.clock = Clock()
        self.routes = weakref.WeakKeyDictionary()
        self.carts = CartPool()
        self.finished = deque(maxlen=1000)
        self.overdue = 0
        self.number = 0

    def receive(self):
        self.number += 1
        parcel = Parcel(self.number)
        if self.number % 4 == 0:
            self.routes[parcel] = Route(parcel, [rng.randrange(500) for _ in range(60)])
        manifest = bytes(rng.getrandbits(8) for _ in range(1500))
        alarm = self.clock.at(1e6, lambda: self.complain(manifest))
        cart = self.carts.take()
        self.clock.at(rng.expovariate(0.5), lambda: self.ship(parcel, cart, alarm))

    def complain(self, manifest):
        self.overdue += len(manifest)

    def ship(self, parcel, cart, alarm):
        self.clock.cancel(alarm)
        route = self.routes.get(parcel)
        self.finished.append(route.length() if route else 0)
        self.carts.give(cart)

    def plan(self):
        best = 1e9
        for _ in range(2600):
            tour = rng.sample(range(60), 40)
            best = min(best, sum(abs(a - b) for a, b in zip(tour, tour[1:])))
        return best

    def run_shift(self):
        for _ in range(60):
            self.receive()
            self.clock.run_until(self.clock.now + 0.4)
        return self.plan()


floor = Floor()
for shift in range(110):
    cost = floor.run_shift()
    if shift % 25 == 0:
        print(shift, cost, len(floor.finished), floor.carts.built)
