"""Two things that grow in proportion are told from two that only both grew."""

from __future__ import annotations

from leakguard.analysis.proportion import apart, rise_together


def test_counts_that_follow_memory_through_uneven_looks_rise_together():
    assert rise_together([0, 24, 32], [2_000, 8_000, 10_000])


def test_jump_at_one_look_does_not_rise_with_a_ramp():
    assert not rise_together([0, 0, 500, 500, 500], [0, 60, 61, 62, 130])
    assert apart([0, 0, 500, 500, 500], [0, 60, 61, 62, 130]) > 1.0


def test_rise_within_one_interval_proves_nothing():
    assert not rise_together([0, 0, 40], [0, 1, 40])
    assert not rise_together([0, 40], [0, 40])


def test_what_does_not_rise_does_not_rise_together():
    assert not rise_together([5, 5, 5], [0, 20, 40])
    assert not rise_together([0, 20, 40], [40, 20, 0])
