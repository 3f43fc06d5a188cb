"""Replays a recorded hour of shop traffic against an in-process gateway, minute by minute."""
import array
import asyncio
import contextvars
import hashlib
import json
import random
import sys
import zlib
from collections import deque

TIDY = sys.argv[1] == "fixed"
MINUTES = 90
REQUESTS = 48
SESSIONS = 7
ROUTES = ("cart", "orders", "profile", "search")

current_span = contextvars.ContextVar("current_span", default=None)


class Span:
    def __init__(self, name):
        self.name = name
        self.parent = current_span.get()
        self.events = []

    def note(self, route, status, headers):
        self.events.append((route, status, headers))


class Session:
    def __init__(self, user, draft):
        self.user = user
        self.draft = draft
        self.timer = None
        self.open = True

    def expire(self):
        self.open = False


class Gateway:
    def __init__(self):
        self.latency = {}
        self.audit_queue = asyncio.Queue()
        self.audit_lines = deque(maxlen=500)
        self.responses = deque(maxlen=200)
        self.catalogue = [{"sku": i, "name": f"article {i}", "price": i * 7 % 913} for i in range(220)]
        self.writer = asyncio.create_task(self.write_audit())

    async def write_audit(self):
        while True:
            record = await self.audit_queue.get()
            agent = (record["agent"] or "-") if TIDY else record["agent"]
            self.audit_lines.append(f"{record['user']} {record['route']} {agent.lower()} {len(record['body'])}")

    def open_session(self, user, rng):
        session = Session(user, bytearray(rng.randbytes(24_000)))
        session.timer = asyncio.get_running_loop().call_later(1800, session.expire)
        return session

    def close_session(self, session):
        session.expire()
        if TIDY:
            session.timer.cancel()

    def observe(self, path, route, status, cost):
        key = (route if TIDY else path, status)
        buckets = self.latency.get(key)
        if buckets is None:
            buckets = self.latency[key] = array.array("d", bytes(8 * 160))
        buckets[min(159, cost // 64)] += 1

    async def handle(self, request):
        route = request["route"]
        path = f"/users/{request['user']}/{route}"
        await asyncio.sleep(0)
        chosen = self.catalogue[request["user"] % 40:][:150]
        body = zlib.compress(json.dumps({"path": path, "items": chosen}).encode(), 6)
        digest = hashlib.pbkdf2_hmac("sha256", body, path.encode(), 2000).hex()
        status = 200 if request["user"] % 50 else 404
        headers = "\r\n".join(f"x-{name}: {digest}" for name in ("etag", "trace", "node", "build", "shard", "zone"))
        current_span.get().note(route, status, headers)
        self.observe(path, route, status, len(body))
        self.responses.append(body)
        self.audit_queue.put_nowait({"user": request["user"], "route": route, "agent": request["agent"], "body": body})
        return len(body)


class Recording:
    """What the production proxy wrote down, regenerated from a seed."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def minute(self, number):
        for i in range(REQUESTS):
            agent = self.rng.choice(("Mozilla/5.0", "curl/8.1", "okhttp/4.9"))
            if number >= 37 and i == 5:
                agent = None
            yield {"user": self.rng.getrandbits(48), "route": self.rng.choice(ROUTES), "agent": agent}


async def replay_minute(gateway, recording, number):
    span = Span(f"minute {number}")
    token = current_span.set(span)
    tasks = [asyncio.create_task(gateway.handle(request)) for request in recording.minute(number)]
    sizes = await asyncio.gather(*tasks)
    if TIDY:
        current_span.reset(token)
    return sum(sizes), len(span.events)


async def main():
    recording = Recording(11)
    gateway = Gateway()
    moved = 0
    for number in range(1, MINUTES + 1):
        sessions = [gateway.open_session(user, recording.rng) for user in range(SESSIONS)]
        size, events = await replay_minute(gateway, recording, number)
        moved += size
        for session in sessions:
            gateway.close_session(session)
        await asyncio.sleep(0)
        if number % 30 == 0:
            print(f"minute {number}: {moved / 1e6:.1f} MB served, {events} events, {len(gateway.audit_lines)} audit lines")
    gateway.writer.cancel()


if __name__ == "__main__":
    asyncio.run(main())
