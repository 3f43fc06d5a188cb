"""``LEAKGUARD=off`` in the environment: the program runs as if nothing watched it."""

from __future__ import annotations

import sys

import pytest

from leakguard import LeakGuard, expect_freed, phase
from leakguard.live.active import active_guard


@pytest.mark.parametrize("word", ["off", "0", "no", "False"])
def test_switched_off_guard_takes_every_call_and_leaves_no_trace(
    monkeypatch, tmp_path, capfd, word
):
    monkeypatch.setenv("LEAKGUARD", word)
    sunk: list[object] = []
    guard = LeakGuard(
        out=tmp_path / "run.jsonl", log=sys.stdout, on_leak=sunk.append, max_overhead=None
    )
    kept, rounds = [], []

    @phase
    def work() -> None:
        assert active_guard() is None
        kept.append([0] * 10_000)

    with guard:
        guard.gauge("kept", lambda: 1 / 0)
        guard.snapshot("ready", baseline=True)
        for number in guard.generations(8):
            with guard.phase("train"):
                work()
            expect_freed(kept)
            rounds.append(number)
        guard.inspect()
        guard.assert_freed()
    assert rounds == list(range(8))
    assert not guard.running
    assert (guard.run.snapshots, guard.report().verdict, sunk) == ((), "inconclusive", [])
    assert not list(tmp_path.iterdir())
    assert capfd.readouterr() == ("", "")


def test_any_other_word_leaves_a_guard_on(monkeypatch):
    monkeypatch.setenv("LEAKGUARD", "on")
    with LeakGuard(report=None) as guard:
        assert guard.running
