"""A worker that makes a client for each tenant's export and closes it afterwards."""

# /// truth
# about = """clients that register their close with atexit and do not take it back when they are
# closed, so that the interpreter keeps each one until it ends"""
# [[leak]]
# type = ["ExportClient", "method", "bytearray", "list", "int", "dict", "tuple"]
# phase = "export"
# start = 1
# ///
import atexit
import os
import random
import struct
import sys
import zlib

from leakguard import LeakGuard

UNREGISTER = sys.argv[1] == "clean"
GENERATIONS = 400
TENANTS = 4
RECORDS = 600


class ExportClient:
    """Packs records into frames; what is left in the buffer is sent when it is closed."""

    def __init__(self, tenant: str) -> None:
        self.tenant = tenant
        self.buffer = bytearray()
        self.frames = 0
        self.closed = False
        self.offsets: list[int] = []
        atexit.register(self.close)

    def write(self, account: int, balance: float, rate: float) -> None:
        self.offsets.append(len(self.buffer))
        self.buffer += struct.pack("<Iddxxxx", account, balance, rate)
        if len(self.buffer) >= 8_192:
            self.send()

    def send(self) -> None:
        packed = zlib.compress(bytes(self.buffer), 6)
        self.frames += len(packed) > 0
        self.buffer.clear()

    def close(self) -> None:
        if self.closed:
            return
        self.send()
        self.closed = True
        if UNREGISTER:
            atexit.unregister(self.close)


def balances(draw: random.Random) -> list[tuple[int, float, float]]:
    rows = []
    for account in range(RECORDS):
        balance = round(draw.lognormvariate(6.0, 1.5), 2)
        rows.append((account, balance, draw.choice((0.01, 0.015, 0.02))))
    rows.sort(key=lambda row: -row[1])
    return rows


def main() -> None:
    draw = random.Random(41)
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for generation in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("collect"):
                books = {f"tenant{slot}-{generation}": balances(draw) for slot in range(TENANTS)}
            with guard.phase("export"):
                for tenant, rows in books.items():
                    client = ExportClient(tenant)
                    for row in rows:
                        client.write(*row)
                    client.close()


if __name__ == "__main__":
    main()
