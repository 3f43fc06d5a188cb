"""A river basin by the day: rain, snow, shallow flow, gauges and an archive."""
import contextlib
import gzip
import io
import os
import sqlite3
import sys
import zlib

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
DAYS = 120
MELT_FROM = 43
TELEMETRY_FROM = 58
SIZE, LAYERS, STATIONS = 170, 150, 60


class Weather:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.storm = np.zeros((SIZE, SIZE))

    def rain(self):
        noise = np.fft.rfft2(self.rng.standard_normal((SIZE, SIZE)))
        wave = np.hypot(np.fft.fftfreq(SIZE)[:, None], np.fft.rfftfreq(SIZE)[None, :])
        field = np.fft.irfft2(noise * np.exp(-(wave * 30) ** 2), s=(SIZE, SIZE))
        self.storm = 0.6 * self.storm + np.clip(field, 0, None)
        return self.storm


class Snowpack:
    """Heat in a column of snow, stepped implicitly."""

    def __init__(self):
        self.temperature = np.linspace(-8, -1, LAYERS)
        off = np.ones(LAYERS - 1)
        self.laplace = 2 * np.eye(LAYERS) - np.diag(off, 1) - np.diag(off, -1)
        self.inverses = {}

    def propagator(self, dt):
        if FIXED:
            dt = 2.0 ** np.floor(np.log2(dt))
        if dt not in self.inverses:
            self.inverses[dt] = np.linalg.inv(np.eye(LAYERS) + 40 * dt * self.laplace)
        return self.inverses[dt]

    def melt(self, air, dt):
        for _ in range(4):
            self.temperature[-1] = air
            self.temperature = self.propagator(dt) @ self.temperature
        return 0.002 * np.clip(self.temperature, 0, None).sum()


class Basin:
    def __init__(self):
        y, x = np.mgrid[0:SIZE, 0:SIZE] / SIZE
        self.ground = 4 * (1 - x) + 2 * (y - 0.5) ** 2 + 0.1 * np.sin(25 * x) * np.cos(19 * y)
        self.depth = np.full((SIZE, SIZE), 0.05)

    def route(self, inflow, steps=140):
        depth = self.depth + 0.01 * inflow
        for _ in range(steps):
            head = self.ground + depth
            east = 0.2 * (head[:, :-1] - head[:, 1:])
            south = 0.2 * (head[:-1] - head[1:])
            east = np.clip(east, -depth[:, 1:] / 5, depth[:, :-1] / 5)
            south = np.clip(south, -depth[1:] / 5, depth[:-1] / 5)
            depth[:, :-1] -= east
            depth[:, 1:] += east
            depth[:-1] -= south
            depth[1:] += south
            depth[:, -1] *= 0.7
        self.depth = depth
        return float(depth.max())


class Gauges:
    def __init__(self):
        self.outlet = np.zeros((DAYS, 6)) if FIXED else [None] * DAYS
        self.places = np.random.default_rng(4).integers(0, SIZE, (STATIONS, 2))
        self.db = sqlite3.connect(":memory:")
        self.db.execute("create table reading (day int, hour int, station int, depth real)")
        self.db.execute("create index by_station on reading (station, day)")

    def read(self, day, depth):
        self.outlet[day - 1] = depth[SIZE // 2, -6:]
        return float(np.mean(self.outlet[day - 1]))

    def telemeter(self, day, depth):
        level = depth[self.places[:, 0], self.places[:, 1]]
        rows = [(day, hour, station, float(level[station] * (1 + hour / 240)))
                for hour in range(24) for station in range(STATIONS)]
        self.db.executemany("insert into reading values (?, ?, ?, ?)", rows)
        if FIXED:
            self.db.execute("delete from reading where day < ?", (day - 6,))
        query = "select max(depth) from reading where station = ? and day > ?"
        return max(self.db.execute(query, (i, day - 5)).fetchone()[0] for i in range(STATIONS))


class Archive:
    def __init__(self):
        self.members = contextlib.ExitStack()
        self.checksum = 0
        self.written = 0

    def store(self, depth):
        spool = io.BytesIO()
        member = self.members.enter_context(gzip.GzipFile(fileobj=spool, mode="wb", compresslevel=6))
        member.write(np.round(depth * 200).astype(np.uint8).tobytes())
        member.flush()
        self.checksum = zlib.crc32(spool.getvalue(), self.checksum)
        self.written += spool.tell()
        if FIXED:
            self.members.pop_all().close()


def main():
    weather, snow, basin = Weather(9), Snowpack(), Basin()
    gauges, archive = Gauges(), Archive()
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for day in guard.generations(range(1, DAYS + 1)):
            with guard.phase("forcing"):
                rain = weather.rain()
            with guard.phase("melt"):
                melt = 0.0
                if day >= MELT_FROM:
                    melt = snow.melt(air=0.2 * (day - MELT_FROM), dt=0.5 / (1 + basin.depth.max()))
            with guard.phase("route"):
                peak = basin.route(rain + melt)
            with guard.phase("observe"):
                outlet = gauges.read(day, basin.depth)
                if day >= TELEMETRY_FROM:
                    peak = max(peak, gauges.telemeter(day, basin.depth))
            with guard.phase("archive"):
                archive.store(basin.depth)
    archive.members.close()
    print(f"peak {peak:.4f}, outlet {outlet:.4f}, archived {archive.written}, checksum {archive.checksum:08x}")


main()
