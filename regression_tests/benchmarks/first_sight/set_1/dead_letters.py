"""An event router with a worker thread; what it cannot route goes to the dead letters."""
# /// truth
# about = "a producer of a newer schema fills the queue of dead letters, which nobody drains"
# [[leak]]
# type = "Envelope"
# holder = "dead_letters"
# phase = ["produce", "route"]
# start = 121
# within = 2
# kind = ["queue", "instances"]
# ///
import json
import os
import queue
import random
import sys
import threading
import zlib
from dataclasses import dataclass

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
GENERATIONS = 260
SCHEMA_2_FROM = 121


@dataclass(slots=True)
class Envelope:
    number: int
    schema: int
    body: bytes


class Router:
    def __init__(self):
        self.inbox = queue.Queue(maxsize=500)
        self.dead_letters = queue.Queue()
        self.totals = {}
        self.worker = threading.Thread(target=self.run, daemon=True)
        self.worker.start()

    def run(self):
        while (envelope := self.inbox.get()) is not None:
            if envelope.schema != 1:
                self.dead_letters.put(envelope)
            else:
                event = json.loads(envelope.body)
                key = event["kind"]
                self.totals[key] = self.totals.get(key, 0) + zlib.crc32(envelope.body) % 7
            envelope = None
            self.inbox.task_done()

    def drain(self):
        rejected = 0
        while not self.dead_letters.empty():
            self.dead_letters.get()
            rejected += 1
        return rejected


def make(chance, tick):
    for number in range(400):
        body = {"kind": f"k{number % 9}", "values": [chance.randrange(1000) for _ in range(80)], "pad": "x" * 900}
        schema = 2 if tick >= SCHEMA_2_FROM and number % 8 == 0 else 1
        yield Envelope(number, schema, json.dumps(body).encode())


def main():
    chance = random.Random(1)
    router = Router()
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for tick in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("produce"):
                envelopes = list(make(chance, tick))
            with guard.phase("route"):
                while envelopes:
                    router.inbox.put(envelopes.pop())
                router.inbox.join()
            with guard.phase("report"):
                if not LEAK:
                    router.drain()
    router.inbox.put(None)
    router.worker.join()


main()
