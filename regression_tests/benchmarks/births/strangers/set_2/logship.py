"""Ships log batches upstream: read lines, pack them, spool to disk until acknowledged."""
import json
import logging
import random
import sys
import tempfile
import time
import zlib
from collections import deque

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
rng = random.Random(11)
audit = logging.getLogger("shipper.audit")
audit.setLevel(logging.INFO)
audit.propagate = False


class RotationHandler(logging.Handler):
    """Keeps the last bytes of a rotation in a fixed window."""

    def __init__(self, rotation):
        super().__init__()
        self.rotation = rotation
        self.window = bytearray(90_000)
        self.pos = 0

    def emit(self, record):
        text = record.getMessage().encode()
        if self.pos + len(text) > len(self.window):
            self.pos = 0
        self.window[self.pos:self.pos + len(text)] = text
        self.pos += len(text)


class Shipper:
    def __init__(self):
        self.streams = {}
        self.unacked = []
        self.recent = deque(maxlen=400)
        self.ratio = deque(maxlen=16)
        self.conn = 0

    def read(self, batch):
        lines = []
        for i in range(600):
            lines.append({"host": f"web{i % 9}", "ms": rng.randrange(900), "batch": batch, "path": f"/v1/items/{i}"})
        self.recent.extend(lines[::3])
        return lines

    def reconnect(self):
        self.conn += 1
        packer = zlib.compressobj(9, zlib.DEFLATED, 15, 9)
        if FIXED:
            self.streams.clear()
        self.streams[self.conn] = packer

    def pack(self, lines):
        raw = "\n".join(json.dumps(line) for line in lines).encode()
        if not self.streams:
            return zlib.compress(raw, 1)
        packer = self.streams[self.conn]
        out = packer.compress(raw) + packer.flush(zlib.Z_SYNC_FLUSH)
        self.ratio.append(len(out) / len(raw))
        return out

    def ship(self, batch, blob):
        spool = tempfile.TemporaryFile(buffering=16384)
        spool.write(blob)
        spool.flush()
        self.unacked.append(spool)
        audit.info("batch %d: %d bytes", batch, len(blob))
        time.sleep(0.01)
        if FIXED:
            self.unacked.remove(spool)
            spool.close()


shipper = Shipper()
handler = None
guard = LeakGuard(out=sys.argv[2])
with guard:
    for batch in guard.generations(range(1, 73)):
        with guard.phase("rotate"):
            if FIXED and handler is not None:
                audit.removeHandler(handler)
                handler.close()
            handler = RotationHandler(batch)
            audit.addHandler(handler)
            if batch >= 12 and batch % 3 == 0:
                shipper.reconnect()
        with guard.phase("read"):
            lines = shipper.read(batch)
        with guard.phase("pack"):
            blob = shipper.pack(lines)
        with guard.phase("ship"):
            shipper.ship(batch, blob)
print("shipped", batch, "open", len(shipper.unacked))
