"""Copies frames of two cameras into C memory, where a driver would read them, and scores them."""

# /// truth
# about = """a buffer from malloc that is not freed where a damaged frame is skipped; the second
# camera sends such frames from generation 151 on"""
# [[leak]]
# phase = "decode"
# start = 151
# kind = ["native", "memory"]
# ///
import ctypes
import os
import sys

import numpy as np

from leakguard import LeakGuard

FREE_DAMAGED = sys.argv[1] == "clean"
GENERATIONS = 450
CABLE_WORN_AFTER = 150
HEIGHT, WIDTH = 180, 240
FRAME_BYTES = HEIGHT * WIDTH

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]


class Camera:
    """Sends a moving gradient with noise; the last byte is a checksum of the first row."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.ticks = 0

    def frame(self, damaged: bool) -> bytes:
        self.ticks += 1
        ramp = np.arange(HEIGHT)[:, None] + np.arange(WIDTH)[None, :] + self.ticks
        picture = (ramp + self.rng.integers(0, 9, (HEIGHT, WIDTH))) % 256
        picture = picture.astype(np.uint8)
        picture[-1, -1] = picture[0].sum() % 256
        if damaged:
            picture[0, 3] ^= 0xFF
        return picture.tobytes()


def sharpness(payload: bytes) -> float | None:
    """The variance of the gradient; None for a frame that arrived damaged."""
    address = libc.malloc(FRAME_BYTES)
    ctypes.memmove(address, payload, FRAME_BYTES)
    view = (ctypes.c_uint8 * FRAME_BYTES).from_address(address)
    picture = np.frombuffer(view, dtype=np.uint8).reshape(HEIGHT, WIDTH)
    if picture[0].sum() % 256 != picture[-1, -1]:
        if FREE_DAMAGED:
            libc.free(address)
        return None
    rows, columns = np.gradient(picture.astype(np.float32))
    score = float(rows.var() + columns.var())
    libc.free(address)
    return score


def main() -> None:
    front, rear = Camera(1), Camera(2)
    skipped = 0
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for generation in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("grab"):
                worn = generation > CABLE_WORN_AFTER
                payloads = [front.frame(damaged=False) for _ in range(4)]
                payloads += [rear.frame(damaged=worn and tick == 2) for tick in range(4)]
            with guard.phase("decode"):
                scores = [sharpness(payload) for payload in payloads]
            with guard.phase("rank"):
                valid = sorted(score for score in scores if score is not None)
                skipped += len(scores) - len(valid)


if __name__ == "__main__":
    main()
