"""The lines of a traced generation stand in one table of the page, with their source."""

from __future__ import annotations

from dataclasses import replace

import report_stories as stories

import leakguard
from leakguard.model import Run, RunInfo, Site, Snapshot
from leakguard.render.traced_lines import traced_lines

SITES = (
    Site("train.py:2", "step", None, 6, type="app.Env", held_by="app.kept[*]"),
    Site("train.py:1", "step", 4_100_000, 12),
)


def _run(sites=SITES) -> Run:
    return Run(RunInfo(), (Snapshot(0, "s", "generation", generation=7, sites=sites),))


def test_lines_are_ranked_by_bytes_and_shown_with_their_source(tmp_path):
    (tmp_path / "train.py").write_text("kept.append(buffer)\nenvs.append(Env())\n")
    section = traced_lines(_run(), tmp_path)
    assert section.title == "What survived the traced generation 7, by line"
    assert section.rows == (
        ("train.py:1 in step", "kept.append(buffer)", "", "12", "4.1 MB", ""),
        ("train.py:2 in step", "envs.append(Env())", "app.Env", "6", "", "app.kept[*]"),
    )


def test_no_source_is_read_without_a_folder(tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text("secret = 1\n")
    monkeypatch.chdir(tmp_path)
    assert traced_lines(_run(), None).columns == ("Line", "Type", "Objects", "Bytes", "Held by")


def test_columns_without_a_word_are_left_out():
    (row,) = traced_lines(_run(SITES[:1]), None).rows
    assert row == ("train.py:2 in step", "app.Env", "6", "app.kept[*]")


def test_run_without_a_traced_generation_has_no_rows():
    assert traced_lines(_run(()), None).rows == ()


def test_page_has_the_table_and_no_pictographs():
    report = stories.leaking()
    first, *rest = report.run.snapshots
    run = replace(report.run, snapshots=(replace(first, sites=SITES), *rest))
    page = leakguard.render(replace(report, run=run), "html")
    assert "What survived the traced generation" in page
    assert "train.py:2 in step" in page
    assert "MEMORY SNAPSHOT" in page
    assert "\N{LEFT-POINTING MAGNIFYING GLASS}" not in page
