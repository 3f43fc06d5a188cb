"""A tracker of bright spots in a video. Each track has the patch in which its spot was seen first, to find it
again; a track ends when its spot has left the picture."""

# /// truth
# about = "patches that are views keep whole frames alive, by tracks that ended long ago"
# [[leak]]
# type = ["Track", "ndarray"]
# holder = "tracks"
# phase = ["track", "grab"]
# start = 5
# within = 4
# kind = ["arrays", "instances", "container"]
# ///
import itertools
import os
import sys

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = np.random.default_rng(4)
HEIGHT, WIDTH, PATCH, LIFE = 540, 960, 12, 4
NOISE = rng.integers(0, 40, (3, HEIGHT, WIDTH), dtype=np.uint8)


class Track:
    def __init__(self, number, patch, row, column, born):
        self.number, self.patch, self.row, self.column = number, patch, row, column
        self.born = self.seen = born
        self.score = 0.0


class Tracker:
    def __init__(self):
        self.tracks = {}
        self.numbers = itertools.count(1)

    def follow(self, frame, spots, now):
        for row, column in spots:
            patch = frame[row : row + PATCH, column : column + PATCH]
            track = Track(next(self.numbers), patch, row, column, now)
            self.tracks[track.number] = track
        for track in self.tracks.values():
            if now - track.seen <= LIFE and now - track.born <= LIFE:
                here = frame[track.row : track.row + PATCH, track.column : track.column + PATCH]
                track.score = float(np.abs(here.astype(int) - track.patch).mean())
                track.seen = now

    def end_lost(self, now):
        for number in [track.number for track in self.tracks.values() if now - track.born >= LIFE]:
            if not LEAK:
                del self.tracks[number]


def grab(now):
    frame = NOISE[now % 3] + NOISE[(now + 1) % 3]
    spots = [(int(r), int(c)) for r, c in zip(rng.integers(0, HEIGHT - PATCH, 3), rng.integers(0, WIDTH - PATCH, 3))]
    for row, column in spots:
        frame[row : row + PATCH, column : column + PATCH] = 250
    return frame


def detect(frame):
    blocks = frame.reshape(HEIGHT // 4, 4, WIDTH // 4, 4).mean((1, 3))
    sums = blocks.cumsum(0).cumsum(1)
    boxes = sums[3:, 3:] - sums[:-3, 3:] - sums[3:, :-3] + sums[:-3, :-3]
    contrast = boxes - np.median(boxes)
    rows, columns = np.unravel_index(np.argsort(contrast, axis=None)[-3:], contrast.shape)
    return [(int(row) * 4, int(column) * 4) for row, column in zip(rows, columns)]


def main():
    tracker = Tracker()
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for now in guard.generations(range(1, 321)):
            with guard.phase("grab"):
                frame = grab(now)
            with guard.phase("detect"):
                spots = detect(frame)
            with guard.phase("track"):
                tracker.follow(frame, spots, now)
                tracker.end_lost(now)
    print("tracks so far", next(tracker.numbers) - 1)


main()
