"""A farm of 3D printers: jobs are sliced, scheduled by deadline, watched while they run, and written up for the clients."""
import heapq
import io
import itertools
import logging
import math
import mmap
import queue
import random
import sys
import threading

TIDY = sys.argv[1] == "fixed"
TICKS, PRINTERS, ARRIVALS = 100, 8, 9


class Job:
    def __init__(self, number, rng):
        self.number, self.name = number, f"job{number:05d}"
        self.sides, self.layers = rng.randrange(5, 13), rng.randrange(10, 24)
        self.twist, self.rush = rng.uniform(-0.1, 0.1), rng.random() < 0.2
        self.outline, self.state, self.length = [], "new", 0.0


class Slicer:
    """Fills each layer of a twisted prism with parallel lines."""

    def __init__(self):
        self.turns = {}

    def turn(self, step):
        step %= 720
        if step not in self.turns:
            self.turns[step] = math.sin(step * math.pi / 360), math.cos(step * math.pi / 360)
        return self.turns[step]

    def slice(self, job):
        for layer in range(job.layers):
            corners = []
            for side in range(job.sides):
                sine, cosine = self.turn(int(720 * (side / job.sides + job.twist * layer / job.layers)))
                corners.append((10 * cosine, 10 * sine))
            job.length += self.fill(corners)
            job.outline.append(corners[0])

    def fill(self, corners):
        total = 0.0
        for step in range(-70, 70):
            level, crossings = step / 7, []
            for (x1, y1), (x2, y2) in zip(corners, corners[1:] + corners[:1]):
                if (y1 <= level) != (y2 <= level):
                    crossings.append(x1 + (level - y1) * (x2 - x1) / (y2 - y1))
            crossings.sort()
            total += sum(right - left for left, right in zip(crossings[::2], crossings[1::2]))
        return total


class Agenda:
    """Jobs by deadline; one that the client withdraws is marked, and passed over in its turn."""

    def __init__(self):
        self.heap, self.order, self.withdrawn = [], itertools.count(), 0

    def add(self, deadline, job):
        heapq.heappush(self.heap, (deadline, next(self.order), job))

    def withdraw(self, job):
        job.state = "withdrawn"
        self.withdrawn += 1
        if TIDY and self.withdrawn > 20:
            self.heap = [entry for entry in self.heap if entry[2].state != "withdrawn"]
            heapq.heapify(self.heap)
            self.withdrawn = 0

    def take(self, now):
        while self.heap and self.heap[0][0] <= now + 30:
            job = heapq.heappop(self.heap)[2]
            if job.state != "withdrawn":
                return job


class Watcher:
    def __init__(self, job):
        self.job, self.inbox, self.peak = job, queue.Queue(), 0.0
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        curve = []
        while (batch := self.inbox.get()) is not None:
            curve.extend(batch)
            self.peak = max(self.peak, max(curve))
            self.inbox.task_done()

    def finish(self):
        self.inbox.join()
        if TIDY:
            self.inbox.put(None)
            self.thread.join()
        return self.peak


class Previews:
    def __init__(self):
        self.maps, self.sent = {}, 0

    def draw(self, job):
        page = mmap.mmap(-1, 24 * 1024)
        for index, (x, y) in enumerate(job.outline):
            page[index * 1024:(index + 1) * 1024] = bytes([int(127 + 6 * (x + y)) % 256]) * 1024
        self.maps[job.name] = page

    def send(self, job):
        self.sent += len(self.maps[job.name])
        if TIDY:
            self.maps.pop(job.name).close()


class Printer:
    def __init__(self, number):
        self.name, self.hot, self.done = f"printer{number}", 180.0 + number, 0

    def run(self, job):
        log, text = logging.getLogger(f"farm.{self.name if TIDY else job.name}"), io.StringIO()
        handler = logging.StreamHandler(text)
        handler.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))
        log.setLevel(logging.INFO)
        log.propagate = False
        log.addHandler(handler)
        for layer, (x, y) in enumerate(job.outline):
            log.info("layer %d starts at %.2f %.2f", layer, x, y)
        log.info("%s: %.1f mm in all", job.name, job.length)
        log.removeHandler(handler)
        self.done += 1
        return len(text.getvalue())


class Farm:
    def __init__(self, seed):
        self.rng, self.slicer, self.agenda = random.Random(seed), Slicer(), Agenda()
        self.printers, self.previews = [Printer(number) for number in range(PRINTERS)], Previews()
        self.numbers, self.lines, self.peak = itertools.count(1), 0, 0.0

    def accept(self, now):
        for index in range(ARRIVALS):
            job = Job(next(self.numbers), self.rng)
            self.slicer.slice(job)
            later = index >= ARRIVALS - 3
            self.agenda.add(now + (500 + self.rng.randrange(900) if later else self.rng.randrange(1, 5)), job)
            if later:
                self.agenda.withdraw(job)

    def print(self, now):
        for printer in self.printers:
            job = self.agenda.take(now)
            if job is None:
                break
            if now > TICKS * 2 // 5 and printer.name == "printer0":
                watcher = Watcher(job)
                for _ in range(3):
                    watcher.inbox.put([printer.hot + self.rng.gauss(0, 2) for _ in range(500)])
                self.peak = max(self.peak, watcher.finish())
            self.lines += printer.run(job)
            if now > TICKS * 3 // 5:
                self.previews.draw(job)
                self.previews.send(job)


def main():
    farm = Farm(23)
    for now in range(1, TICKS + 1):
        farm.accept(now)
        farm.print(now)
        if now % 10 == 0:
            done = sum(printer.done for printer in farm.printers)
            print(f"tick {now:3d} printed {done:4d} lines {farm.lines} peak {farm.peak:.1f}", flush=True)


main()
