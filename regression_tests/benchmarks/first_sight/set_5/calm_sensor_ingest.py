"""Collects readings in memory and writes them to sqlite in large transactions."""
import json
import os
import random
import sqlite3
import statistics
import tempfile

# /// truth
# about = "an ingest loop whose row buffer grows to a bound and is flushed to sqlite"
# ///

rng = random.Random(41)
folder = tempfile.TemporaryDirectory()
db = sqlite3.connect(os.path.join(folder.name, "readings.db"))
db.execute("create table readings (sensor integer, at real, value real, meta text)")
db.execute("create table hourly (sensor integer, at real, mean real, spread real)")

pending = []
clock, cycle, written = 0.0, 0, 0


def flush():
    global written
    by_sensor = {}
    for row in pending:
        by_sensor.setdefault(row["sensor"], []).append(row["value"])
    with db:
        db.executemany("insert into readings values (?, ?, ?, ?)",
                       [(r["sensor"], r["at"], r["value"], json.dumps(r["meta"])) for r in pending])
        for sensor, values in by_sensor.items():
            db.execute("insert into hourly values (?, ?, ?, ?)",
                       (sensor, clock, statistics.fmean(values), statistics.pstdev(values)))
        # the raw table holds the last two flushes only
        db.execute("delete from readings where at < ?", (clock - 500.0,))
    written += len(pending)
    pending.clear()


while True:
    clock += 1.0
    for _ in range(200):
        sensor = rng.randrange(64)
        base = [rng.gauss(15 + sensor % 7, 2.0) for _ in range(9)]
        base.sort()
        pending.append({"sensor": sensor, "at": clock + rng.random(), "value": statistics.fmean(base[2:7]),
                        "meta": {"battery": round(rng.random(), 3), "rssi": -rng.randrange(40, 90), "fw": "1.%d" % (sensor % 4)}})
    if len(pending) >= 50_000:
        flush()
    cycle += 1
    if cycle % 300 == 0:
        print("cycle", cycle, "pending", len(pending), "written", written, flush=True)
    if cycle == 2700:
        break

if pending:
    flush()
print("rows per sensor:", db.execute("select count(*) / 64 from hourly").fetchone()[0])
db.close()
folder.cleanup()
