"""Hour by hour processing of a three-station seismic array, with archive and event follow-up."""
import functools
import sys
import threading
import zlib
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

TIDY = sys.argv[1] == "fixed"
HOURS, SAMPLES, SEGMENT = 140, 1 << 16, 4096
BASELINE_HOURS = 45
scratch = threading.local()


class Block(NamedTuple):
    code: str
    t0: float
    samples: np.ndarray


class Station:
    def __init__(self, code, seed, drift):
        self.code, self.drift = code, drift
        self.rng = np.random.default_rng(seed)

    def read(self, hour):
        noise = np.convolve(self.rng.normal(0, 40, SAMPLES + 31), np.hanning(32), "valid")
        onset = 20000 + int(self.rng.integers(0, 20000))
        quake = np.zeros(SAMPLES)
        length = SAMPLES - onset
        quake[onset:] = 4000 * np.exp(-np.arange(length) / 3000) * np.sin(np.arange(length) / 5)
        return Block(self.code, hour * 3600.0 + self.drift * hour, (noise + quake).astype(np.int16))


@functools.lru_cache(maxsize=24)
def travel_times(depth_km):
    distance = np.linspace(0, 400, 1500)
    return np.hypot(distance, depth_km) / (5.8 + 0.02 * depth_km)


def taper_for(block):
    if not hasattr(scratch, "tapers"):
        scratch.tapers = {}
    key = SEGMENT if TIDY else (block.t0, SEGMENT)
    if key not in scratch.tapers:
        scratch.tapers[key] = np.hanning(SEGMENT)
    return scratch.tapers[key]


def spectrum(block):
    taper = taper_for(block)
    starts = range(0, SAMPLES - SEGMENT + 1, SEGMENT // 4)
    power = [np.abs(np.fft.rfft(taper * block.samples[s:s + SEGMENT])) ** 2 for s in starts]
    return np.mean(power, axis=0)


def trigger_ratio(samples):
    energy = np.cumsum(samples.astype(float) ** 2)
    short = (energy[200:] - energy[:-200]) / 200
    long = (energy[4000:] - energy[:-4000]) / 4000
    return short[3800:] / (long + 1.0)


class Archive:
    """One compressed stream per station and hour."""
    def __init__(self):
        self.streams = {}
        self.stored = 0

    def write(self, block, hour):
        stream = self.streams[block.code, hour] = zlib.compressobj(4, wbits=14, memLevel=7)
        for part in np.array_split(np.diff(block.samples, prepend=block.samples[:1]), 8):
            self.stored += len(stream.compress(part.tobytes()))

    def roll(self, code, hour):
        previous = (code, hour - 1)
        if previous in self.streams:
            self.stored += len(self.streams[previous].flush(zlib.Z_SYNC_FLUSH))
            if TIDY:
                del self.streams[previous]


def coda(samples, patience):
    """Fed with the later noise levels, until the ground is quiet again."""
    envelope = np.abs(samples[:16384].astype(np.float64))
    quiet, heard = envelope.mean() * 0.2, 0
    while heard < patience:
        level = yield heard
        heard += 1
        if level < quiet:
            return


class FollowUp:
    def __init__(self):
        self.running = []

    def open(self, samples):
        follower = coda(samples, 5 if TIDY else float("inf"))
        next(follower)
        self.running.append(follower)

    def hear(self, level):
        still = []
        for follower in self.running:
            try:
                follower.send(level)
                still.append(follower)
            except StopIteration:
                pass
        self.running = still


def process(hour, stations, pool, archive, follow_up):
    blocks = [station.read(hour) for station in stations]
    spectra = list(pool.map(spectrum, blocks))
    for block in blocks:
        archive.roll(block.code, hour)
        archive.write(block, hour)
    ratio = np.mean([trigger_ratio(block.samples) for block in blocks], axis=0)
    follow_up.hear(float(np.median(np.abs(blocks[0].samples))) + 200)
    if hour > BASELINE_HOURS and ratio.max() > 4:
        follow_up.open(blocks[0].samples)
    moveout = travel_times(5 + hour * 7 % 36)
    return np.mean(spectra, axis=0), float(ratio.max()), float(moveout[:100].mean())


stations = [Station("KLO", 1, 0.011), Station("BRE", 2, 0.017), Station("TUV", 3, 0.023)]
archive, follow_up = Archive(), FollowUp()
night = deque(maxlen=24)
catalogue = []
with ThreadPoolExecutor(2) as pool:
    for hour in range(1, HOURS + 1):
        mean_spectrum, strength, moveout = process(hour, stations, pool, archive, follow_up)
        night.append(mean_spectrum)
        catalogue.append((hour, strength, moveout))

drift = np.abs(np.log(night[-1] / night[0])).mean()
print(f"{len(catalogue)} hours, strongest {max(c[1] for c in catalogue):.2f}, "
      f"archive {archive.stored // 1024} KiB, spectral drift {drift:.3f}")
