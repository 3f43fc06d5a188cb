"""Generations that are parts of larger rounds carry how many of these have begun."""

from __future__ import annotations

from leakguard import LeakGuard


def test_rounds_of_an_outer_level_are_counted_with_each_generation():
    with LeakGuard(report=None) as guard:
        for epoch in range(2):
            guard.outer_round()
            for _ in range(2):
                with guard.generation():
                    pass
            if epoch:
                guard.outer_round("evaluation")
        with guard.generation():
            pass
    assert [dict(end.outer) for end in guard.run.generation_ends()] == [
        {"epoch": 1}, {"epoch": 1}, {"epoch": 2}, {"epoch": 2}, {"epoch": 2, "evaluation": 1},
    ]  # fmt: skip


def test_guard_that_is_switched_off_takes_them_too(monkeypatch):
    monkeypatch.setenv("LEAKGUARD", "off")
    with LeakGuard(report=None) as guard:
        guard.outer_round("epoch")
    assert guard.run.snapshots == ()
