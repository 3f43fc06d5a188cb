"""A program that traces its allocations does not pay for those of a diagnosis."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc

import pytest

from leakguard import LeakGuard, analysis, load
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


PROGRAM = """
import os
import subprocess
import sys
from leakguard import LeakGuard

kept = []

class Order:
    def __init__(self):
        self.lines = [float(number) for number in range(3_000)]

with LeakGuard(out=sys.argv[1]) as guard:
    for _ in guard.generations(range(1, 31)):
        {keep}
"""


@pytest.mark.parametrize(
    ("keep", "told"),
    [
        ("kept.append(Order())", [("__main__.Order", "__main__.kept[*]")]),
        ("kept[:] = [Order()]", []),
    ],
    ids=["leak", "clean twin"],
)
def test_notes_that_tracemalloc_takes_are_no_memory_of_the_program(tmp_path, keep, told):
    script, out = tmp_path / "program.py", tmp_path / "run.jsonl"
    script.write_text(PROGRAM.format(keep=keep), "utf-8")
    traced = {**os.environ, "PYTHONTRACEMALLOC": "1"}
    subprocess.run([sys.executable, script, out], check=True, timeout=120, env=traced)

    run = load(out)
    assert [(f.type, f.held_by) for f in analysis.diagnose(run).findings] == told
    assert "tracemalloc" in run.unavailable["pools"]
