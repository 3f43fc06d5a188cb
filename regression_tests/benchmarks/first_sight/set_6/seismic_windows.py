"""Scans synthetic seismic records for events and keeps the strongest window of each."""
# /// truth
# about = "small numpy views of big records are kept once the aftershock phase starts half-way"
# [[leak]]
# type = "ndarray"
# holder = ["picks", "base"]
# kind = ["arrays", "native"]
# line = ["picks.append(window if MODE == \"leak\" else window.copy())", "window = record[lo:lo + 64]", "record = noise.standard_normal(SAMPLES)"]
# ///
import sys

import numpy as np

MODE = sys.argv[1] if len(sys.argv) > 1 else "clean"
RECORDS = 600
SAMPLES = 20_000


def band_pass(record):
    spectrum = np.fft.rfft(record)
    freq = np.fft.rfftfreq(len(record), d=0.01)
    spectrum[(freq < 1.0) | (freq > 12.0)] = 0
    return np.fft.irfft(spectrum, len(record))


def sta_lta(signal, short=50, long=800):
    power = np.concatenate([[0.0], np.cumsum(signal ** 2)])
    sta = (power[short:] - power[:-short]) / short
    lta = (power[long:] - power[:-long]) / long
    return sta[long - short:] / (lta + 1e-9)


def add_event(record, noise):
    at = int(noise.integers(2000, SAMPLES - 3000))
    t = np.arange(1500)
    record[at:at + 1500] += 6 * np.exp(-t / 300) * np.sin(t * 0.4)
    return at


noise = np.random.default_rng(19)
picks = []
errors = []
for number in range(RECORDS):
    record = noise.standard_normal(SAMPLES)
    at = add_event(record, noise)
    best = None
    for gain in np.geomspace(0.25, 8.0, 14):
        ratio = sta_lta(band_pass(record * gain))
        peak = int(ratio.argmax())
        if best is None or ratio[peak] > best[0]:
            best = (ratio[peak], peak)
    lo = min(best[1] + 750, SAMPLES - 64)
    errors = errors[-99:] + [abs(lo - at)]
    if number >= RECORDS // 2:
        window = record[lo:lo + 64]
        picks.append(window if MODE == "leak" else window.copy())
    if number % 60 == 0:
        print(f"record {number} ratio {best[0]:.1f} median error {np.median(errors):.0f}", flush=True)

stack = np.mean(picks, axis=0)
print("stacked", len(picks), "windows, rms", round(float(np.sqrt((stack ** 2).mean())), 3))
