"""Everything that grew is told once: found, healthy, a rest of its own, or a trifle."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard import diagnose
from leakguard.model import Holder, Run, TypeCount
from leakguard.render import render
from leakguard.testing import RunStory, State

KB, MB = 1_000, 1_000_000
ROW, ROWS = "app.Row", "app.table.rows[*]"


def told(*, rows: int, beside: int, rounds: int = 40, seconds: float = 1.0) -> Run:
    """Tell a run that keeps a row of ``rows`` bytes each round, and ``beside`` bytes unseen."""
    story = RunStory()
    for number in range(rounds + 1):
        size = 80 * MB + (rows + beside) * number
        metrics = {"heap_in_use": size, "rss": size + 40 * MB}
        counts = {ROW: number, "str": 5_000} if rows else {"str": 5_000}
        sizes = {ROW: rows * number, "str": 300 * KB} if rows else {"str": 300 * KB}
        state = State(metrics, counts, sizes)
        story.generation(serve=state) if number else story.baseline(state)
    run = story.run()
    shots = tuple(
        replace(shot, seconds=seconds * (shot.generation or 0), holders=_holders(shot, rows))
        for shot in run.snapshots
    )
    return replace(run, snapshots=shots)


def _holders(shot, rows: int) -> tuple[Holder, ...]:
    number = shot.generation
    if shot.moment != "generation" or not rows:
        return ()
    return (
        Holder(ROWS, ROW, number, before=number - 1, streak=number, retained_bytes=rows * number),
    )


def test_leak_that_explains_the_growth_leaves_no_rest():
    report = diagnose(told(rows=100 * KB, beside=0))
    assert [f.held_by for f in report.findings] == [ROWS]
    assert report.balance.rest <= 0.05 * report.balance.growth


def test_growth_beside_a_leak_is_a_finding_of_its_own_with_what_is_known():
    report = diagnose(told(rows=300 * KB, beside=200 * KB))
    leak, rest = report.findings
    assert (leak.held_by, leak.verdict) == (ROWS, "leak")
    assert rest.bytes_per_generation == pytest.approx(200 * KB, rel=0.1)
    assert rest.phase == "serve"
    assert "explain" in rest.reason
    assert "Explained: 300.00 of 500.00 kB per generation" in render(report, "terminal")


@pytest.mark.parametrize("buffers", [1, 2])
def test_buffer_that_becomes_longer_beside_a_larger_leak_is_told_with_its_holder(buffers):
    """One ``bytearray`` is appended to; another program also has a second one, for a while."""
    rows, each = 600 * KB, 100 * KB
    run = told(rows=rows, beside=each)
    shots = []
    for shot in run.snapshots:
        number, journal = shot.generation or 0, "app.server.journal.data"
        kept = TypeCount(3 + (buffers - 1) * number, 20 * KB + each * number)
        types = {**shot.census.types, "bytearray": kept}
        buffer = Holder(journal, "bytearray", 1, bytes=each * number, retained_bytes=each * number)
        holders = (*shot.holders, buffer) if shot.holders else ()
        census = replace(shot.census, types=types)
        shots.append(replace(shot, census=census, holders=holders))
    found = [f.held_by for f in diagnose(replace(run, snapshots=tuple(shots))).findings]
    assert (journal in found) == (buffers == 1)
    assert ROWS in found


def test_growth_that_no_size_of_a_log_can_explain_is_told_once():
    report = diagnose(told(rows=0, beside=300 * KB))
    assert len(report.findings) == 1
    assert report.findings[0].bytes_per_generation == pytest.approx(300 * KB, rel=0.1)


def test_trifle_is_told_with_its_size_and_a_day_of_it():
    report = diagnose(told(rows=0, beside=4 * KB, rounds=100, seconds=60.0))
    assert report.verdict == "stable"
    (trifle,) = [c for c in report.cleared if c.metric == "heap_in_use"]
    assert "+4.0 kB per generation" in trifle.reason
    assert "5.8 MB a day" in trifle.reason
    assert "gains 4.0 kB per generation" in report.headline


def test_same_bytes_at_a_pace_that_comes_to_gigabytes_a_day_are_not_stable():
    report = diagnose(told(rows=0, beside=6 * KB, rounds=60, seconds=0.02))
    assert report.verdict == "inconclusive"
    assert "25.9 GB a day" in report.headline


def test_run_whose_memory_rests_has_nothing_to_explain():
    report = diagnose(told(rows=0, beside=0))
    assert (report.verdict, report.balance) == ("stable", None)
