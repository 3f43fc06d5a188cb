"""The history of a long run stays bounded, even and in one object."""

from __future__ import annotations

import itertools

from leakguard.live.history import History


def test_short_history_keeps_every_line():
    history = History()
    for round_ in (None, 0, 1, 2):
        history.append(f"{round_}\n".encode(), round_)
    assert list(history) == [b"None\n", b"0\n", b"1\n", b"2\n"]


def test_long_history_is_thinned_evenly_and_keeps_the_baseline():
    history = History(limit=100)
    history.append(b"baseline", None)
    for round_ in range(10_000):
        history.append(str(round_).encode(), round_)
    first, *rounds = history
    assert first == b"baseline"
    assert len(history) <= 101
    steps = {int(b) - int(a) for a, b in itertools.pairwise(rounds)}
    assert len(steps) == 1


def test_recent_lines_come_with_those_before_the_first_generation():
    history = History()
    history.append(b"baseline", None)
    for round_ in range(10):
        history.append(str(round_).encode(), round_)
    assert list(history.recent(2)) == [b"baseline", b"8", b"9"]
