"""Run files: what a killed process leaves behind is still a run."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leakguard
from leakguard.errors import UnreadableRun
from leakguard.model import Census, Cost, RunInfo, Site, Snapshot, TypeCount, Watched
from leakguard.store import load_runs, schema
from leakguard.store.jsonl import RunWriter


def write_run(path, count=3):
    writer = RunWriter(path, RunInfo(name="story"))
    for n in range(count):
        writer.write(schema.encode_snapshot(Snapshot(n, f"moment {n}", metrics={"rss": n})))
    return writer


def test_torn_last_line_costs_only_that_line(tmp_path):
    path = tmp_path / "run.jsonl"
    write_run(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    (run,) = load_runs(path)
    assert [s.label for s in run.snapshots] == ["moment 0", "moment 1"]
    assert run.notes == ("line 4 is cut off: the process ended while it was written",)
    assert not run.finished


@given(cut=st.integers(min_value=1, max_value=2000))
def test_file_cut_anywhere_is_read_or_refused_in_one_line(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("cut") / "run.jsonl"
    write_run(path).close()
    path.write_bytes(path.read_bytes()[:cut])
    try:
        runs = load_runs(path)
    except UnreadableRun as refused:
        assert "\n" not in str(refused)
    else:
        assert all(run.snapshots for run in runs)


def test_restart_appends_a_second_run_after_the_torn_first(tmp_path):
    path = tmp_path / "run.jsonl"
    write_run(path)
    path.write_bytes(path.read_bytes()[:-20])
    write_run(path, count=2).close()
    first, second = load_runs(path)
    assert (first.part, second.part) == ((1, 2), (2, 2))
    assert (len(first.snapshots), len(second.snapshots)) == (2, 2)
    assert second.finished
    assert leakguard.load(path) == second


def test_run_that_another_tool_wrote_anew_with_spaces_is_a_run(tmp_path):
    path = tmp_path / "run.jsonl"
    write_run(path).close()
    whole = load_runs(path)
    lines = [json.dumps(json.loads(line)) for line in path.read_bytes().splitlines()]
    path.write_text("\n".join(lines) + "\n")
    assert load_runs(path) == whole


def test_garbage_line_is_skipped_and_counted(tmp_path):
    path = tmp_path / "run.jsonl"
    write_run(path)
    path.write_bytes(path.read_bytes().replace(b"moment 1", b'moment"1'))
    (run,) = load_runs(path)
    assert len(run.snapshots) == 2
    assert run.notes[0].startswith("line 3 was skipped")


def test_later_schema_is_refused_and_says_what_to_do(tmp_path):
    path = tmp_path / "run.jsonl"
    write_run(path)
    path.write_bytes(path.read_bytes().replace(b"leakguard.run/1", b"leakguard.run/9"))
    with pytest.raises(UnreadableRun, match="upgrade"):
        load_runs(path)


def test_fields_of_a_newer_minor_version_are_ignored(tmp_path):
    path = tmp_path / "run.jsonl"
    write_run(path)
    path.write_bytes(path.read_bytes().replace(b'"label":', b'"novelty":[1],"label":'))
    assert len(load_runs(path)[0].snapshots) == 3


def test_folder_gives_the_runs_of_all_its_files(tmp_path):
    for rank in range(2):
        write_run(tmp_path / f"rank{rank}.jsonl").close()
    assert len(load_runs(tmp_path)) == 2


@pytest.mark.parametrize(
    ("name", "expected"),
    [("missing.jsonl", "no such file"), ("", "holds no \\*.jsonl file")],
)
def test_path_without_a_run_is_refused_in_one_line(tmp_path, name, expected):
    with pytest.raises(UnreadableRun, match=expected) as refused:
        load_runs(tmp_path / name)
    assert "\n" not in str(refused.value)


def test_header_without_snapshots_is_refused(tmp_path):
    path = tmp_path / "run.jsonl"
    RunWriter(path, RunInfo()).close()
    with pytest.raises(UnreadableRun, match="holds no snapshot"):
        load_runs(path)


def test_types_left_out_of_a_later_census_are_as_in_the_first(tmp_path):
    path = tmp_path / "run.jsonl"
    writer = RunWriter(path, RunInfo())
    first = Census({"dict": TypeCount(5, 100), "Env": TypeCount(2, 64)})
    later = Census({"Env": TypeCount(18, 640)}, complete=False)
    for n, census in enumerate((first, later)):
        writer.write(schema.encode_snapshot(Snapshot(n, "x", census=census)))
    snapshot = load_runs(path)[0].snapshots[1]
    assert (snapshot.count("dict"), snapshot.count("Env"), snapshot.count("gone")) == (5, 18, 0)


def test_line_leaves_out_what_is_empty():
    snapshot = Snapshot(0, "x", watched={"Env": Watched(0, (0, 0))}, metrics={"threads": 0})
    line = schema.encode_snapshot(snapshot)
    assert b"null" not in line and b"{}" not in line
    assert schema.decode(line).snapshot == snapshot


def test_sites_of_a_traced_generation_are_read_back_as_they_were():
    sites = (
        Site("leaks.py:92", "environment", None, 16, ("task.py:90",), type="app.Env"),
        Site("native.py:3", None, 1_000_000, 4, tracer="memray"),
    )
    written = Snapshot(0, "end", "generation", sites=sites, cost=Cost(0.5, 3, 2.1))
    assert schema.decode(schema.encode_snapshot(written)).snapshot == written
