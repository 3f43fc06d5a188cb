"""A frame grabber bound through the C API counts one reference too many for each late frame."""

# /// truth
# about = "a binding increments the reference count of frames that it drops: nobody holds them"
# [[leak]]
# type = "Frame"
# phase = "grab"
# start = 1
# ///
import ctypes
import os
import sys

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = np.random.default_rng(5)


class Frame:
    def __init__(self, number: int) -> None:
        self.number = number
        self.meta = {"gain": number % 8, "exposure": number * 0.01}
        self.pixels = bytearray(6_000)


def deliver(frame: Frame, late: bool) -> Frame | None:
    """What the binding does: takes a reference for its ring, and forgets it for late frames."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(frame))
    if late and LEAK:
        return None
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(frame))
    return None if late else frame


def grab(step: int) -> list[Frame]:
    frames = [deliver(Frame(step * 10 + k), late=k == 9) for k in range(10)]
    return [frame for frame in frames if frame is not None]


def track(frames: list[Frame], state: np.ndarray) -> np.ndarray:
    for frame in frames:
        gain = 1e-3 * frame.meta["gain"]
        state = np.tanh(state @ state.T * 0.01 + gain)
    return state


guard = LeakGuard(out=os.environ["RUN_FILE"])
state = rng.standard_normal((120, 120))
with guard:
    for step in guard.generations(range(1, 301)):
        with guard.phase("grab"):
            frames = grab(step)
        with guard.phase("track"):
            state = track(frames, state)
