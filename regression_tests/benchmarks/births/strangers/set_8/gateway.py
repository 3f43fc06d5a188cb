"""Telemetry gateway: devices connect, frames are decoded, forwarded upstream with acks, and rolled up."""
import asyncio
import contextvars
import json
import logging
import random
import statistics
import sys
import zlib
from collections import OrderedDict, deque

from leakguard import LeakGuard

MODE = sys.argv[1]
ROUNDS = 120
TRACE = contextvars.ContextVar("trace", default=())
audit = logging.getLogger("gateway.audit")
audit.setLevel(logging.INFO)
audit.propagate = False


class SessionAudit(logging.Handler):
    def __init__(self, session):
        super().__init__()
        self.session, self.lines = session, deque(maxlen=80)

    def emit(self, record):
        if record.session == self.session:
            self.lines.append(self.format(record))


class Session:
    def __init__(self, number, traced):
        self.number = number
        self.handler = SessionAudit(number) if traced else None
        if traced:
            audit.addHandler(self.handler)

    def log(self, text, *args):
        audit.info(text, *args, extra={"session": self.number})

    def close(self):
        if self.handler and MODE == "fixed":
            audit.removeHandler(self.handler)
            self.handler.close()


class SchemaCache:
    def __init__(self, size):
        self.size, self.entries = size, OrderedDict()

    def get(self, device):
        if device in self.entries:
            self.entries.move_to_end(device)
        else:
            self.entries[device] = {f"f{k}": (device * k) % 17 for k in range(40)}
            if len(self.entries) > self.size:
                self.entries.popitem(last=False)
        return self.entries[device]


class Upstream:
    def __init__(self):
        self.inbox, self.pending, self.acked, self.lost = asyncio.Queue(), {}, 0, 0

    async def serve(self):
        while True:
            seq, packet = await self.inbox.get()
            if packet[0] % 20 and seq in self.pending:
                self.pending[seq].set_result(len(packet))

    async def forward(self, seq, packet):
        ack = asyncio.get_running_loop().create_future()
        self.pending[seq] = ack
        self.inbox.put_nowait((seq, packet))
        try:
            if MODE == "fixed":
                await asyncio.wait_for(ack, 0.3)
            else:
                await ack
            self.acked += 1
        except asyncio.TimeoutError:
            self.lost += 1
        finally:
            self.pending.pop(seq, None)


class Span:
    def __init__(self, name, samples):
        self.tags = {f"{name}.{k}": value for k, value in enumerate(samples)}


def make_frame(device, rng):
    values = {f"f{k}": round(rng.gauss(device, 2), 4) for k in range(40)}
    return zlib.compress(json.dumps({"device": device, "values": values}).encode())


def decode(frames, schemas):
    rows = []
    for frame in frames:
        message = json.loads(zlib.decompress(frame))
        schema = schemas.get(message["device"])
        rows.append([value * (1 + schema[name]) for name, value in message["values"].items()])
    return rows


def rollup(number, rows, window):
    means = [statistics.fmean(column) for column in zip(*rows)]
    span = Span(f"rollup{number}", (value for row in rows[:3] for value in row))
    token = TRACE.set(TRACE.get() + (span,))
    try:
        window.append(means)
        return statistics.pstdev(m[0] for m in window)
    finally:
        if MODE == "fixed":
            TRACE.reset(token)


async def main():
    rng = random.Random(5)
    upstream, schemas = Upstream(), SchemaCache(300)
    window = deque(maxlen=30)
    server = asyncio.create_task(upstream.serve())
    guard = LeakGuard(out=sys.argv[2])
    seq, tasks = 0, set()
    with guard:
        for number in guard.generations(range(1, ROUNDS + 1)):
            with guard.phase("accept"):
                session = Session(number, traced=number > 45)
                frames = [make_frame(rng.randrange(900), rng) for _ in range(100)]
                for frame in frames:
                    session.log("frame of %d bytes, crc %d", len(frame), zlib.crc32(frame))
            with guard.phase("decode"):
                rows = decode(frames, schemas)
            with guard.phase("forward"):
                for k, row in enumerate(rows):
                    seq += 1
                    packet = bytes([k % 256]) + json.dumps(row).encode() * 2
                    task = asyncio.create_task(upstream.forward(seq, packet))
                    tasks.add(task)
                    task.add_done_callback(tasks.discard)
                await asyncio.sleep(0.01)
            with guard.phase("rollup"):
                spread = rollup(number, rows, window)
                session.close()
    print(upstream.acked, len(schemas.entries), round(spread, 3))
    server.cancel()


asyncio.run(main())
