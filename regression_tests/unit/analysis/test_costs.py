"""What takes memory and gives it back is told as a cost, with its size, and never as a leak."""

from __future__ import annotations

from leakguard import diagnose
from leakguard.model import Run, RunInfo, Snapshot
from leakguard.render import render

MB = 1_000_000


def told(garbage: int, *, collected: bool = True) -> Run:
    """Tell a run whose live memory falls by ``garbage`` bytes in every fourth generation."""
    shots = tuple(
        Snapshot(
            number,
            f"Gen {number}: End of generation",
            "generation",
            generation=number,
            metrics={
                "rss": 150 * MB,
                "heap_in_use": 30 * MB + garbage * (number % 4) // 3,
                "gc_collected": 1_000 * (number // 4) * collected,
            },
        )
        for number in range(1, 41)
    )
    return Run(RunInfo(), shots, finished=True)


def test_garbage_that_doubles_what_a_run_needs_is_a_cost():
    report = diagnose(told(60 * MB))
    (cost,) = report.findings
    assert report.verdict == "stable"
    assert (cost.kind, cost.verdict, cost.pattern) == ("cycles", "inconclusive", "sawtooth")
    assert "60.0 MB" in cost.reason
    text = render(report, "terminal")
    assert "A COST, NOT A LEAK" in text
    assert "60.0 MB" in text


def test_little_garbage_is_no_cost_worth_a_line():
    assert diagnose(told(6 * MB)).findings == ()


def test_memory_that_falls_without_the_collector_was_no_garbage_in_cycles():
    assert diagnose(told(60 * MB, collected=False)).findings == ()
