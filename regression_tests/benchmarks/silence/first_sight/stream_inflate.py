"""Gateway simulation: clients send deflated telemetry in chunks; lines are matched by rules."""
import os
import random
import re
import sys
import zlib

from leakguard import LeakGuard

mode = sys.argv[1]
MINUTES = 40
SESSIONS = 6
CHUNK = 512


class Session:
    """State of one client connection, both directions."""

    def __init__(self, sid):
        self.sid = sid
        self.inflate = zlib.decompressobj()
        self.deflate = zlib.compressobj(level=3, memLevel=6)
        self.received = 0
        self.tail = b""

    def feed(self, chunk):
        data = self.tail + self.inflate.decompress(chunk)
        *lines, self.tail = data.split(b"\n")
        self.received += len(lines)
        return lines

    def reply(self, text):
        return self.deflate.compress(text) + self.deflate.flush(zlib.Z_SYNC_FLUSH)


class Matcher:
    """Alert rules; a client names the sensors that it cares about at its login."""

    def __init__(self):
        self.compiled = {}

    def pattern(self, sid, sensors):
        key = (sid, tuple(sensors)) if mode == "leak" else tuple(sorted(sensors))[:1]
        rule = self.compiled.get(key)
        if rule is None:
            names = "|".join(re.escape(s) for s in sensors)
            rule = re.Scanner([(rf"(?:{names}) +\d+", self.hit), (r"[^\n]", None)])
            self.compiled[key] = rule
        return rule

    @staticmethod
    def hit(scanner, token):
        return token


class Gateway:
    def __init__(self):
        self.sessions = {}
        self.matcher = Matcher()
        self.alerts = 0

    def open(self, sid):
        self.sessions[sid] = Session(sid)
        return self.sessions[sid]

    def close(self, sid):
        session = self.sessions[sid]
        session.tail = b""
        if mode == "fixed":
            del self.sessions[sid]
        return session.received


def telemetry(rng):
    text = "".join(f"{rng.choice(SENSORS)} {rng.randrange(1000)} at {i}\n" for i in range(3600))
    return zlib.compress(text.encode(), 6)


SENSORS = [f"sensor_{i:03d}_{kind}" for i in range(40) for kind in ("temp", "load", "flow")]


def serve_minute(gateway, minute, rng):
    for k in range(SESSIONS):
        sid = f"{minute:04d}-{k:02d}"
        session = gateway.open(sid)
        first = (minute + k) % 8
        rule = gateway.matcher.pattern(sid, SENSORS[first * 12:first * 12 + 24])
        blob = telemetry(rng)
        for start in range(0, len(blob), CHUNK):
            for line in session.feed(blob[start:start + CHUNK]):
                if line.endswith(b"7"):        # every tenth line is audited
                    tokens, _ = rule.scan(line.decode())
                    gateway.alerts += len(tokens)
        session.reply(b"thanks " + sid.encode())
        gateway.close(sid)


gateway = Gateway()
rng = random.Random(6)
guard = LeakGuard(out=os.environ.get("OUT", "run.jsonl"))
with guard:
    for minute in guard.generations(range(MINUTES)):
        with guard.phase("serve"):
            serve_minute(gateway, minute, rng)
        if minute % 10 == 0:
            print(f"minute {minute}: {gateway.alerts} alerts")
print("alerts", gateway.alerts)
