"""A program that traces its allocations does not pay for those of a diagnosis."""

from __future__ import annotations

import sys
import tracemalloc

import pytest

from leakguard import LeakGuard, analysis
from leakguard.capture import heap
from leakguard.live.diagnosing import findings_within

pytestmark = pytest.mark.skipif(
    heap.ENGINE != "compiled" or not sys.platform.startswith("linux"), reason="no copies here"
)


@pytest.fixture
def leaking():
    kept: list[list[int]] = []
    with LeakGuard(report=None, trace="off") as guard:
        for _ in guard.generations(range(8)):
            kept.extend([number] for number in range(3_000))
    return guard.run


@pytest.mark.parametrize("traced", [True, False])
def test_run_is_diagnosed_apart_only_where_the_program_traces_itself(leaking, traced, monkeypatch):
    expected = analysis.diagnose(leaking).findings
    called, diagnose = [], analysis.diagnose

    def noted(run):
        called.append(run)  # in a copy of the process nobody sees it
        return diagnose(run)

    monkeypatch.setattr(analysis, "diagnose", noted)
    if traced:
        tracemalloc.start(7)
    try:
        assert findings_within(leaking) == expected != ()
    finally:
        tracemalloc.stop()
    assert len(called) == int(not traced)
