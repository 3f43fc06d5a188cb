"""Run files that earlier versions wrote are read, judged and shown as they were then.

``run_files`` holds one of each state of the schema: the same ten generations, each of which keeps
one ``Ticket`` of 200 kB. Their censuses are cut down to a few types.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import leakguard
from leakguard.render import TEXT_FORMATS, render

FILES = sorted((Path(__file__).parent / "run_files").glob("*.jsonl"))
CHOSEN = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def test_every_state_of_the_schema_is_kept():
    assert [p.stem for p in FILES] == ["bounded", "counts", "holders", "scheduled", "traced"]


@CHOSEN
def test_older_run_file_is_read_whole(path):
    run = leakguard.load(path)
    assert run.generations == tuple(range(1, 11))
    assert run.finished
    assert run.phases == ("serve", "rest")
    assert run.baseline.label.startswith("Ready")
    assert len(run.notes) == (path.stem == "bounded")
    last = run.generation_ends()[-1]
    assert last.gauges["buffer"].value == 10
    assert any("__main__.Ticket" in s.watched for s in run.snapshots)
    assert all(s.metrics["rss"] > 0 for s in run.snapshots)


@CHOSEN
def test_leak_of_an_older_run_file_is_found(path):
    report = leakguard.diagnose(leakguard.load(path))
    assert report.verdict == "leak"
    assert report.findings[0].type == "__main__.Ticket"
    assert report.findings[0].count_per_generation == pytest.approx(1)


@CHOSEN
@pytest.mark.parametrize("name", [name for name in TEXT_FORMATS if name != "svg"])
def test_older_run_file_is_shown_in_every_format(path, name):
    assert "Ticket" in render(leakguard.diagnose(leakguard.load(path)), name)
