"""External merge sort of a stream of (key, amount) records in limited memory."""
import heapq
import random
import struct
import sys
import tempfile

# /// truth
# about = "an external sort that keeps the spill files of merged runs open"
# [[leak]]
# type = ["BufferedRandom", "_TemporaryFileWrapper", "FileIO", "TextIOWrapper", "_io.BufferedRandom"]
# holder = ["spilled"]
# kind = ["files", "instances", "native"]
# line = ["f = tempfile.TemporaryFile(buffering=BUFFER)", "spilled.append(f)"]
# ///

RECORD = struct.Struct("<qd")
BUFFER = 32 * 1024
rng = random.Random(77)


def stream(n):
    for i in range(n):
        yield rng.getrandbits(40), rng.random()


def spill(rows):
    rows.sort()
    f = tempfile.TemporaryFile(buffering=BUFFER)
    for row in rows:
        f.write(RECORD.pack(*row))
    f.seek(0)
    return f


def read(f):
    while True:
        raw = f.read(RECORD.size)
        if len(raw) < RECORD.size:
            return
        yield RECORD.unpack(raw)


source = stream(10_000_000)
spilled, runs = [], []
chunk, merged, checksum, total = 0, 0, 0, 420

while chunk < total:
    rows = [next(source) for _ in range(10000)]
    f = spill(rows)
    runs.append(f)
    spilled.append(f)
    chunk += 1
    if len(runs) == 4:
        previous = -1
        for key, amount in heapq.merge(*map(read, runs)):
            assert key >= previous
            previous = key
            checksum = (checksum * 31 + int(amount * 1000)) & 0xFFFFFFFF
            merged += 1
        runs = []
        if sys.argv[1] == "clean":
            for f in spilled:
                f.close()
            spilled = []
    if chunk % 60 == 0:
        print("chunk", chunk, "merged", merged, "checksum %08x" % checksum)

print("ok", merged)
