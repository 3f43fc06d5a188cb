"""Workers lease shards; while a lease lasts, a thread sends its heartbeat."""
# /// truth
# about = "leases that are lost to another worker leave their heartbeat thread running"
# [[leak]]
# type = "Heartbeat"
# phase = "lease"
# start = 51
# within = 2
# kind = ["threads", "instances"]
# ///
import heapq
import os
import random
import sys
import threading

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
GENERATIONS = 130
SECOND_WORKER_FROM = 51


class Heartbeat(threading.Thread):
    def __init__(self, shard):
        super().__init__(name=f"heartbeat-{shard}", daemon=True)
        self.shard = shard
        self.over = threading.Event()
        self.beats = 0

    def run(self):
        while not self.over.wait(20.0):
            self.beats += 1


class Leases:
    def __init__(self):
        self.held = {}

    def take(self, shard):
        heartbeat = self.held[shard] = Heartbeat(shard)
        heartbeat.start()

    def give_up(self, shard, lost):
        heartbeat = self.held.pop(shard)
        if lost and LEAK:
            return  # somebody else has it, nothing to say any more
        heartbeat.over.set()
        heartbeat.join()


def merge(shard, chance):
    runs = [sorted(chance.random() for _ in range(5000)) for _ in range(6)]
    last = 0.0
    for value in heapq.merge(*runs):
        last = value
    return last


chance = random.Random(12)
leases = Leases()
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for round_ in guard.generations(range(1, GENERATIONS + 1)):
        shards = (2 * round_, 2 * round_ + 1)
        with guard.phase("lease"):
            for shard in shards:
                leases.take(shard)
        with guard.phase("merge"):
            for shard in shards:
                merge(shard, chance)
        with guard.phase("give_up"):
            for shard in shards:
                leases.give_up(shard, lost=shard % 2 == 1 and round_ >= SECOND_WORKER_FROM)
