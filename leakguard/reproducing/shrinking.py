"""Leaves out of a test what it does not need, as long as it fails on the finding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from leakguard.reproducing.sketch import Sketch
from leakguard.reproducing.tryout import Tryout

_FEWEST_ROUNDS = 3  # fewer generations than this have no verdict


def shrunk(sketch: Sketch, tryout: Tryout) -> Sketch:
    """Return the smallest test found that fails on the finding twice.

    The tests that failed are kept, so that one that fails only by chance is given up for the one
    before.
    """
    accepted = [sketch]
    for step in (_fewer_rounds, _fewer_turns, _fewer_statements, _tidied):
        accepted += step(accepted[-1], tryout)
    while len(accepted) > 1 and tryout.played(accepted[-1], again=True).outcome != "fails":
        accepted.pop()
    return accepted[-1]


def _fewer_rounds(sketch: Sketch, tryout: Tryout) -> Iterator[Sketch]:
    fewer = replace(sketch, rounds=_FEWEST_ROUNDS)
    if tryout.fails(fewer):
        yield fewer


def _fewer_turns(sketch: Sketch, tryout: Tryout) -> Iterator[Sketch]:
    while sketch.times > 1:
        sketch = replace(sketch, times=sketch.times // 2)
        if not tryout.fails(sketch):
            return
        yield sketch


def _fewer_statements(sketch: Sketch, tryout: Tryout) -> Iterator[Sketch]:
    """Leave out statements, many at a time at first, then fewer, from the end of the test."""
    step = sketch.size
    while step and not tryout.is_over:
        end, before = sketch.size, sketch.size
        while end > 0:
            gone = set(range(max(0, end - step), end))
            less = sketch.without(gone).tidy()
            end -= len(gone)
            if less.unknown <= sketch.unknown and tryout.fails(less):
                sketch = less
                end = min(end, sketch.size)
                yield sketch
        step = min(step, sketch.size)
        # A statement may be needed by one that is gone by now: look at single ones once more.
        step = 1 if step == 1 and sketch.size < before else step // 2


def _tidied(sketch: Sketch, tryout: Tryout) -> Iterator[Sketch]:
    less = sketch.tidy()
    if less != sketch and tryout.fails(less):
        yield less
