"""A scheduler on a simulated clock: every message gets a timer for its resending, which an acknowledgement
cancels. Timers are a heap. From round 71 on the new policy has long timeouts."""

# /// truth
# about = "cancelled timers stay in the heap until their deadline, which is hours away since round 71 of 240"
# [[leak]]
# type = ["Timer", "Message"]
# holder = "timers"
# phase = "send"
# start = 71
# within = 4
# kind = ["instances", "container"]
# ///
import heapq
import itertools
import os
import random
import sys
import zlib

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = random.Random(19)


class Message:
    def __init__(self, number):
        self.number = number
        self.body = rng.randbytes(300)


class Timer:
    def __init__(self, deadline, message):
        self.deadline, self.message, self.cancelled = deadline, message, False


class Link:
    def __init__(self):
        self.now = 0.0
        self.timers = []
        self.dead = 0
        self.order = itertools.count()
        self.resent = 0

    def send(self, message, timeout):
        timer = Timer(self.now + timeout, message)
        heapq.heappush(self.timers, (timer.deadline, next(self.order), timer))
        return timer

    def acknowledge(self, timer):
        timer.cancelled = True
        self.dead += 1
        if not LEAK and self.dead > len(self.timers) // 2:
            self.timers = [entry for entry in self.timers if not entry[2].cancelled]
            heapq.heapify(self.timers)
            self.dead = 0

    def tick(self, seconds):
        self.now += seconds
        while self.timers and self.timers[0][0] <= self.now:
            timer = heapq.heappop(self.timers)[2]
            if timer.cancelled:
                self.dead -= 1
            else:
                self.resent += 1


def main():
    link = Link()
    numbers = itertools.count()
    checksum = 0
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for round_ in guard.generations(range(1, 241)):
            timeout = 2.0 if round_ <= 70 else 4 * 3600.0
            with guard.phase("send"):
                waiting = [link.send(Message(next(numbers)), timeout) for _ in range(150)]
            with guard.phase("acknowledge"):
                rng.shuffle(waiting)
                for timer in waiting:
                    body = timer.message.body
                    for _ in range(2):
                        checksum = zlib.crc32(zlib.compress(body, 1), checksum)
                        body = body[::-1]
                    link.acknowledge(timer)
            with guard.phase("tick"):
                link.tick(1.0)
    print("checksum", checksum, "resent", link.resent)


main()
