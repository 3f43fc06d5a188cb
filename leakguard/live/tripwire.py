"""Calls a function once memory passes a bound, also inside of a long generation.

A thread of the system reads the numbers (``_tripwire.c``): Python does not know the thread, so a
program that counts, joins or lists its threads does not meet it. It ends before the program forks
and starts again afterwards, because Python warns about a fork of a process with several threads.

Its limits: while C code keeps Python's lock the function is not called, so one call that takes all
memory is not seen. Without the compiled part nothing calls, and the caller has to ask by itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from leakguard.capture.ceilings import Wire
from leakguard.compiled_part import check_interface


def _compiled() -> Any:
    try:
        from leakguard.live import _tripwire

        check_interface(_tripwire, 0x3D1B8EDC)
    except ImportError:  # it was not built, or from other sources
        return None
    return _tripwire


_part = _compiled()


class Tripwire:
    """The thread of one run at a time; ``is_set`` is false where there is none."""

    def __init__(self, call: Callable[[], object]) -> None:
        """Set up; ``start`` starts the thread."""
        self._call = call
        self._armed: tuple[list[Wire], float, float] | None = None
        self.is_set = False

    def start(self) -> None:
        """Start the thread, if there may be one and no other guard has it."""
        if _part is None or _running:
            return
        try:
            _part.start(self._call)
        except OSError:
            return
        self.is_set = True
        _running.append(self)

    def arm(self, wires: list[Wire], every: float, at_latest: float) -> None:
        """Trip once when a wire is passed, or after ``at_latest`` seconds; 0 stands for never.

        The numbers are read ``every`` so many seconds.
        """
        if self.is_set and _part is not None:
            self._armed = (wires, every, at_latest)
            _part.arm(wires, every, at_latest)

    def stop(self) -> None:
        """End the thread."""
        if self in _running:
            _running.remove(self)
            _part.stop()
        self.is_set = False

    def go_on(self) -> None:
        """Start again after a fork."""
        try:
            _part.start(self._call)
            if self._armed is not None:
                _part.arm(*self._armed)
        except OSError:  # no thread can be started any more
            _running.remove(self)
            self.is_set = False


_running: list[Tripwire] = []


def _before_fork() -> None:
    if _running:
        _part.stop()


def _after_in_parent() -> None:
    for wire in tuple(_running):
        wire.go_on()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_running.clear
    )
