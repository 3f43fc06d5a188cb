"""A discrete-event simulation of a parcel depot; one round is one simulated day."""
import collections
import heapq
import itertools
import math
import random

DAY = 86_400.0


class Event:
    __slots__ = ("when", "action", "cancelled")

    def __init__(self, when, action):
        self.when, self.action, self.cancelled = when, action, False


class Simulator:
    def __init__(self):
        self.now = 0.0
        self.queue = []
        self.ticket = itertools.count()
        self.fired = 0
        self.dead = 0

    def schedule(self, delay, action):
        event = Event(self.now + delay, action)
        heapq.heappush(self.queue, (event.when, next(self.ticket), event))
        return event

    def cancel(self, event):
        event.cancelled = True
        self.dead += 1
        if self.dead > 12_000:
            self.queue = [entry for entry in self.queue if not entry[2].cancelled]
            heapq.heapify(self.queue)
            self.dead = 0

    def run_until(self, end):
        while self.queue and self.queue[0][0] <= end:
            self.now, _, event = heapq.heappop(self.queue)
            if not event.cancelled:
                self.fired += 1
                event.action()
        self.now = end


class Parcel:
    def __init__(self, number, rng):
        self.number = number
        self.size = [rng.uniform(5, 80) for _ in range(3)]
        self.route = [(rng.uniform(-1, 1), rng.uniform(-1, 1)) for _ in range(6)]
        self.log = []
        self.claim = None

    def length(self):
        return sum(math.dist(a, b) for a, b in zip(self.route, self.route[1:]))


class Depot:
    """Parcels arrive, wait for one of the belts, are sorted and leave; a claim falls due after two years."""

    def __init__(self, sim, seed=12):
        self.sim, self.rng = sim, random.Random(seed)
        self.free_belts = 14
        self.waiting = []
        self.numbers = itertools.count(1)
        self.delivered = 0
        self.archive = collections.deque(maxlen=20_000)    # the last parcels, for questions by telephone
        self.claims = 0
        self.distance = 0.0

    def open_day(self, arrivals):
        for _ in range(arrivals):
            self.sim.schedule(self.rng.uniform(0, DAY * 0.8), self.arrive)

    def arrive(self):
        parcel = Parcel(next(self.numbers), self.rng)
        parcel.log.append((self.sim.now, "in"))
        parcel.claim = self.sim.schedule(730 * DAY, lambda: self.pay_claim(parcel))
        self.waiting.append(parcel)
        self.start_sorting()

    def start_sorting(self):
        while self.free_belts and self.waiting:
            parcel = self.waiting.pop(0)
            self.free_belts -= 1
            parcel.log.append((self.sim.now, "belt"))
            self.sim.schedule(self.rng.expovariate(1 / 300), lambda p=parcel: self.sorted(p))

    def sorted(self, parcel):
        self.free_belts += 1
        parcel.log.append((self.sim.now, "out"))
        self.sim.schedule(3600 * parcel.length(), lambda: self.deliver(parcel))
        self.start_sorting()

    def deliver(self, parcel):
        self.sim.cancel(parcel.claim)
        self.distance += parcel.length()
        self.delivered += 1
        if parcel.number % 3:
            self.archive.append(parcel)

    def pay_claim(self, parcel):
        self.claims += 1


sim = Simulator()
depot = Depot(sim)

if __name__ == "__main__":
    for day in range(60):
        depot.open_day(1400)
        sim.run_until((day + 1) * DAY)
        if day % 20 == 19:
            print(f"day {day + 1} delivered {depot.delivered} fired {sim.fired} km {depot.distance:.0f}")
