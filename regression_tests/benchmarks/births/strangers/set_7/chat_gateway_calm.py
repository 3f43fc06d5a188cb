"""A chat gateway on asyncio with its fake clients in the same process."""
import asyncio
import collections
import contextvars
import hashlib
import random
import time

ROUNDS = 120
scratch = contextvars.ContextVar("scratch", default=None)


class Bus:
    def __init__(self):
        self.listeners = collections.defaultdict(list)

    def on(self, topic, listener):
        self.listeners[topic].append(listener)

    def off(self, topic, listener):
        self.listeners[topic].remove(listener)

    def emit(self, topic, event):
        for listener in list(self.listeners[topic][:20]):
            listener(event)


class Session:
    def __init__(self, name):
        self.name = name
        self.receive = bytearray(6_000)
        self.history = [f"{name}: message {index} " + "lorem " * 6 for index in range(40)]

    async def heartbeat(self, shutdown):
        """Ping until the gateway shuts down."""
        await shutdown.wait()
        self.receive.clear()


class Presence:
    """Who was seen in the last second: entries expire."""

    def __init__(self):
        self.seen = {}

    def touch(self, name):
        now = time.monotonic()
        self.seen[name] = (now, "status " * 20)
        for stale in [key for key, (when, _) in self.seen.items() if now - when > 1]:
            del self.seen[stale]


class Gateway:
    def __init__(self):
        self.bus = Bus()
        self.presence = Presence()
        self.shutdown = asyncio.Event()
        self.background = set()
        self.recent = collections.deque(maxlen=300)
        self.expired = 0

    async def connect(self, number):
        sessions = []
        for client in range(4):
            session = Session(f"user{number}-{client}")
            task = asyncio.create_task(session.heartbeat(self.shutdown))
            self.background.add(task)
            task.add_done_callback(self.background.discard)
            self.presence.touch(session.name)
            session.task = task
            sessions.append(session)
        await asyncio.sleep(0.002)
        return sessions

    async def chat(self, sessions, number):
        def audit(event):
            self.recent.append(hashlib.sha256(event.encode()).hexdigest())
        self.bus.on("message", audit)
        for session in sessions:
            for line in session.history:
                for _ in range(110):
                    line = hashlib.sha256(line.encode()).hexdigest()
                self.bus.emit("message", line)
                await asyncio.sleep(0)
        self.bus.off("message", audit)
        if number >= 40:
            self.announce_typing(number)

    def announce_typing(self, number):
        for room in range(3):
            backlog = [f"room{room} round{number} draft {index} " + "x" * 60 for index in range(120)]

            def on_typing(event):
                return event in backlog
            self.bus.on("typing", on_typing)
            self.bus.emit("typing", "hello")
            self.bus.off("typing", on_typing)

    async def report(self, number):
        """Build a report for one request; forget its token in an hour."""
        rows = [{"row": index, "name": f"report{number}-{index}"} for index in range(150)]
        scratch.set(rows)
        expiry = asyncio.get_running_loop().call_later(3600, self.expire, context=contextvars.Context())
        total = 0
        for row in scratch.get():
            for _ in range(40):
                total += len(hashlib.sha256(row["name"].encode()).hexdigest())
        await asyncio.sleep(0.003)
        expiry.cancel()
        scratch.set(None)
        return total

    def expire(self):
        self.expired += 1


async def one_round(gateway, number, rng):
    sessions = await gateway.connect(number)
    await gateway.chat(sessions, number)
    reports = await asyncio.gather(asyncio.create_task(gateway.report(number)))
    for session in sessions:
        session.task.cancel()
    await asyncio.gather(*(session.task for session in sessions), return_exceptions=True)
    return sum(reports) + rng.randrange(3)


async def main():
    gateway, rng, total = Gateway(), random.Random(1), 0
    for number in range(1, ROUNDS + 1):
        total += await one_round(gateway, number, rng)
    gateway.shutdown.set()
    await asyncio.sleep(0.05)
    print("rounds", ROUNDS, "total", total, "recent", len(gateway.recent))


asyncio.run(main())
