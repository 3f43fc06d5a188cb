"""Traces a generation with tracemalloc: which lines made the live objects and blocks in use."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import tracemalloc
from _tracemalloc import _get_object_traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, cast

from leakguard.capture import heap
from leakguard.capture.allocation_sites.byte_sites import MOST_SITES, traced_blocks
from leakguard.capture.allocation_sites.free_lists import reserve
from leakguard.capture.allocation_sites.suspect import Suspect
from leakguard.capture.heap.classes import MANAGED_DICT, flags
from leakguard.capture.library import OWN_FOLDER
from leakguard.capture.stack import (
    described,
    forget,
    named,
    origin,
    place,
    reaches_program,
)
from leakguard.model import Site

Lines = heap.Origin

_POINTER = ctypes.sizeof(ctypes.c_void_p)
# Bytes before an object: two pointers of the collector's header, and before these the two pointers
# that replace an instance's dict.
_HEADERS = 2 * _POINTER + 2 * _POINTER


def origin_of(item: Any) -> Lines | None:
    """Return (file, line) of the frames that made an object, innermost first; None if untraced."""
    if sys.version_info[:2] == (3, 11) and flags(type(item)) & MANAGED_DICT:
        # Python 3.11 would look up such an object by the address of its collector header, but
        # its block begins earlier.
        return _at_address()(0, id(item) - _HEADERS)
    # The public function makes an object of each frame, which takes longer.
    return cast("Lines | None", _get_object_traceback(item))


@functools.cache
def _at_address() -> Callable[[int, int], Lines | None]:
    read = ctypes.pythonapi._PyTraceMalloc_GetTraceback
    read.restype, read.argtypes = ctypes.py_object, [ctypes.c_uint, ctypes.c_size_t]
    return cast("Callable[[int, int], Lines | None]", read)


# Frames kept of a stack. Chosen, above 10: if a trainer calls a torch module that contains another
# one, an allocation lies ten calls below the line of the program. More frames cost more time.
# Measured: a trace with 12 frames costs up to 1.7 times as much as with 6 frames, in a deep
# recursion.
_FRAMES_OF_OBJECTS = 16
# Frames kept of a stack in a shallow trace, which follows a trace that took too long. Chosen, above
# 3: the program's line that calls ``np.repeat`` is the third frame. Measured: a training step of
# TD3 takes 6.9 times as long with 4 frames as without a trace, and 15 times as long with 16 frames.
_FRAMES_IF_SHALLOW = 4
# For one type, the holders of the objects of at most this many stacks are looked up: the stacks
# with the most objects. Chosen: a program that keeps its losses in a list also keeps a dozen other
# objects per loss, in the backward graphs. So a dozen stacks may come before the stack of the
# losses. A stack after the first ``MOST_SITES`` is reported only if its objects are elements of a
# container.
_MOST_ASKED = 20
_ELEMENT = "[*]"

_Key = tuple[str, Lines]


class ObjectTrace:
    """One traced generation.

    If the program itself runs tracemalloc, the program's traces are read, and tracing is neither
    started nor stopped. These traces may be older than this generation.

    This works while the program itself runs under memray (``memray run``): 19,928 of 20,000 new
    objects had their stack.
    """

    name = "tracemalloc"

    def __init__(self, suspects: Sequence[Suspect] = (), *, shallow: bool = False) -> None:
        """Start tracing; a ``shallow`` trace keeps few frames of a stack."""
        global _running
        self._own = not tracemalloc.is_tracing()
        self._reserve: list[Any] = []
        if self._own:
            tracemalloc.start(_FRAMES_IF_SHALLOW if shallow else _FRAMES_OF_OBJECTS)
            _running = self
            names = {suspect.type for suspect in suspects if suspect.type is not None}
            self._reserve = reserve(names, lambda item: origin_of(item) is not None)
        self._shallow = shallow
        self._counts: Counter[_Key] = Counter()
        self._samples: list[_Key] = []
        self._rarer: set[_Key] = set()
        self._blocks: list[Site] = []

    def survivors(self, suspects: Sequence[Suspect]) -> list[int]:
        """Stop; return the addresses of a few objects of each site, whose holders are wanted."""
        names = {suspect.type for suspect in suspects if suspect.type is not None}
        kept: dict[_Key, tuple[int, ...]] = {}
        try:
            if names:
                kept = self._counted(names)
            # Blocks are read only if this trace started tracemalloc. If the program started it, its
            # traces may cover the whole run, and reading them takes seconds.
            if self._own and any(suspect.type is None for suspect in suspects):
                self._blocks = traced_blocks(self.name)
        finally:
            self.stop()
        samples: list[int] = []
        for key in self._largest(names):
            samples += kept[key]
            self._samples += [key] * len(kept[key])
        return samples

    def sites(self, held_by: Sequence[str | None]) -> list[Site]:
        """Return the sites, most objects first, then the sites of blocks.

        ``held_by`` has the holder of each object in the list that ``survivors`` returned.
        """
        holders = defaultdict(list)
        for key, holder in zip(self._samples, held_by, strict=False):
            holders[key].append(holder)
        keys = dict.fromkeys(self._samples)
        try:
            found = [s for key in keys for s in self._sites(key, holders[key])]
            return found + self._blocks
        finally:
            forget()

    def stop(self) -> None:
        """Stop tracing, unless the program traces for itself."""
        global _running
        if self._own and tracemalloc.is_tracing():
            tracemalloc.stop()
        self._own = False
        self._reserve.clear()
        if _running is self:
            _running = None

    def _sites(self, key: _Key, holders: list[str | None]) -> list[Site]:
        """Return the sites of one stack: one for each named holder."""
        if key in self._rarer:
            holders = [h for h in holders if h is not None and h.endswith(_ELEMENT)]
            if not holders:
                return []
        return _sites(key, self._counts[key], holders)

    def _counted(self, names: set[str]) -> dict[_Key, tuple[int, ...]]:
        """Count live objects by type and stack; return the addresses of some objects of each."""
        kept = {}
        for made in heap.origins(names, origin_of).made:
            if not made.lines[0][0].startswith(OWN_FOLDER):
                key = (made.type, made.lines)
                self._counts[key], kept[key] = made.count, made.addresses
        return kept

    def _largest(self, names: set[str]) -> list[_Key]:
        chosen = []
        for name in sorted(names):
            own = [key for key, _ in self._counts.most_common() if key[0] == name]
            if self._shallow:  # A stack without a program line does not help to find the cause.
                own = [key for key in own if reaches_program(file for file, _ in key[1])] or own
            chosen += own[:_MOST_ASKED]
            self._rarer.update(own[MOST_SITES:_MOST_ASKED])
        return chosen


_running: ObjectTrace | None = None


def _stop_in_child() -> None:
    """Stop tracing in a worker that is forked during the traced generation."""
    if _running is not None:
        _running.stop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_stop_in_child)


def _sites(key: _Key, count: int, holders: list[str | None]) -> list[Site]:
    """Return one site for each holder of a stack's objects, each with the count of all of them.

    How many of the objects each holder has is unknown.
    """
    name, lines = key
    stack = [named(file, line) for file, line in lines]
    known: list[str | None] = [*dict.fromkeys(h for h in holders if h is not None)]
    at, frames = stack[origin(stack, constructors=())], described(stack)
    return [
        Site(place(at), at.function, None, count, frames, ObjectTrace.name, name, holder)
        for holder in known or [None]
    ]
