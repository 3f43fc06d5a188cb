"""The leak trace as a picture."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

pytest.importorskip("objgraph")

from leakguard import UsageError
from leakguard.model import Finding, Holder, Hop, Report, Run, RunInfo, Snapshot
from leakguard.render.chain_graph import draw_chain

TRACE = (
    Hop("local trainer in main()", "app.Trainer"),
    Hop(".episodes", "list", suspect=True),
    Hop("[*]", "app.Environment", suspect=True),
)
HOLDER = Holder("app.Trainer.episodes[*]", "app.Environment", 48, trace=TRACE)
LEAK = Finding("f", "instances", "leak", "growing", "it grows", held_by=HOLDER.path)


def report(*findings: Finding) -> Report:
    run = Run(RunInfo(), (Snapshot(0, "Gen 1: End of generation", holders=(HOLDER,)),))
    return Report(run, "leak", "a leak", findings)


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs graphviz")
def test_every_hop_is_drawn_with_its_name_and_type(tmp_path):
    picture = tmp_path / "chain.svg"
    draw_chain(report(LEAK), picture)
    drawn = picture.read_text()
    for hop in TRACE:
        assert hop.label in drawn
        assert hop.type in drawn
    assert drawn.count('class="edge"') == 2


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs graphviz")
def test_picture_reaches_the_object_that_leaks_inside_of_an_entry(tmp_path):
    picture = tmp_path / "chain.svg"
    draw_chain(report(replace(LEAK, type="app.Frame")), picture)
    drawn = picture.read_text()
    assert "app.Frame" in drawn and drawn.count('class="edge"') == 3


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs graphviz")
def test_trace_of_a_finding_is_drawn_where_no_holder_was_recorded(tmp_path):
    picture = tmp_path / "chain.svg"
    path = tuple(hop.line for hop in TRACE)
    draw_chain(report(replace(LEAK, held_by=None, path=path, type="app.Environment")), picture)
    assert picture.read_text().count('class="edge"') == 2


def test_machine_without_graphviz_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UsageError, match="graphviz draws the trace and is missing: install"):
        draw_chain(report(LEAK), tmp_path / "chain.svg")


def test_run_without_a_trace_says_so(tmp_path):
    with pytest.raises(UsageError, match="no finding of this run has a leak trace"):
        draw_chain(report(), tmp_path / "chain.svg")
