"""An asyncio gateway. Every connection has a heartbeat; when the client drops the line in the middle of a
request, nobody tells the heartbeat."""

# /// truth
# about = "an asyncio gateway whose heartbeats outlive connections that broke"
# [[leak]]
# type = ["Task", "coroutine", "Connection"]
# holder = "heartbeats"
# phase = ["serve", "accept"]
# start = 1
# within = 3
# kind = ["tasks", "instances"]
# ///
import asyncio
import hashlib
import json
import os
import random
import sys

from leakguard import LeakGuard, phase

LEAK = sys.argv[1] == "leak"
rng = random.Random(11)


class Connection:
    def __init__(self, number):
        self.number = number
        self.closed = asyncio.Event()
        self.inbox = bytearray(2048)
        self.beats = 0


class Gateway:
    def __init__(self):
        self.heartbeats = set()
        self.served = 0
        self.digest = hashlib.sha256()

    async def heartbeat(self, connection):
        await connection.closed.wait()
        connection.beats += 1

    async def handle(self, connection, messages, drops):
        task = asyncio.create_task(self.heartbeat(connection))
        self.heartbeats.add(task)
        task.add_done_callback(self.heartbeats.discard)
        try:
            for position, message in enumerate(messages):
                if drops and position == len(messages) // 2:
                    raise ConnectionResetError(connection.number)
                payload = json.loads(message)
                connection.inbox[: len(message)] = message
                self.digest.update(json.dumps(payload, sort_keys=True).encode())
                self.served += 1
                await asyncio.sleep(0)
            if LEAK:
                connection.closed.set()
        finally:
            if not LEAK:
                connection.closed.set()

    @phase("serve")
    async def serve(self, clients):
        results = await asyncio.gather(*(self.handle(*client) for client in clients), return_exceptions=True)
        await asyncio.sleep(0)
        return sum(isinstance(result, ConnectionResetError) for result in results)


@phase("accept")
def accept(first):
    clients = []
    for number in range(first, first + 40):
        messages = [
            json.dumps({"id": number, "seq": seq, "values": [rng.random() for _ in range(8)]}).encode()
            for seq in range(8)
        ]
        clients.append((Connection(number), messages, number % 8 == 3))
    return clients


async def main():
    gateway = Gateway()
    dropped = 0
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for second in guard.generations(range(1, 301)):
            dropped += await gateway.serve(accept(second * 40))
    print("served", gateway.served, "dropped", dropped)
    for task in gateway.heartbeats:
        task.cancel()


asyncio.run(main())
