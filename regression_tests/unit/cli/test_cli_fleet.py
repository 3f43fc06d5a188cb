"""``leakguard fleet``: the bugs of many runs, one line each, ranked by damage."""

from __future__ import annotations

import datetime
import json
from dataclasses import asdict, fields, replace

import pytest
from told_runs import add_run

from leakguard.cli import main
from leakguard.model.fleet import Sighting
from leakguard.store.sightings import COLUMNS, GROUPS

duckdb = pytest.importorskip("duckdb")

_DAY = datetime.datetime(2026, 3, 1)
_ROW = Sighting(
    run="a.jsonl", name="train", job=None, host="node1", rank=0, started=_DAY, hours=1.0,
    generations=10, finished=True, verdict="leak", python="3.11.7",
)  # fmt: skip


def seen(run, fingerprint, damage, **more):
    leak = {"certainty": "leak", "kind": "instances", "leaked_bytes": damage, "damage": damage}
    return replace(_ROW, run=run, fingerprint=fingerprint, **{**leak, **more})


def table(path, rows):
    from leakguard.store.sightings import Sightings

    sightings = Sightings()
    sightings.add(rows)
    sightings.write(path)
    return str(path)


def told(*arguments, capsys):
    status = main(["fleet", *map(str, arguments), "--format", "json"])
    assert status == 0
    return json.loads(capsys.readouterr().out)


def test_columns_of_the_table_are_the_fields_of_a_sighting():
    assert list(COLUMNS) == [field.name for field in fields(Sighting)]
    assert set(GROUPS.values()) <= set(COLUMNS)


def test_bugs_of_a_folder_are_counted_over_its_runs(tmp_path, capsys):
    for name in ("a", "b/c", "b/d"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        add_run(tmp_path / f"{name}.jsonl", leaks=name != "b/d")
    fleet = told(tmp_path, capsys=capsys)
    assert (fleet["runs"], fleet["leaking"], fleet["found"]) == (3, 2, 1)
    [bug] = fleet["bugs"]
    assert (bug["runs"], bug["type"]) == (2, "training.Rollout")


def test_bugs_are_ranked_by_damage_and_not_by_how_many_have_them(tmp_path, capsys):
    small = [seen(f"s{n}.jsonl", "a" * 12, 10.0) for n in range(5)]
    rows = [*small, seen("l.jsonl", "b" * 12, 1_000.0), replace(_ROW, run="calm.jsonl")]
    fleet = told(table(tmp_path / "t.parquet", rows), capsys=capsys)
    assert [bug["group"] for bug in fleet["bugs"]] == ["b" * 12, "a" * 12]
    assert [bug["runs"] for bug in fleet["bugs"]] == [1, 5]
    assert fleet["runs"] == 7


def test_top_shows_the_first_and_says_how_many_there_are(tmp_path, capsys):
    rows = [seen(f"{n}.jsonl", f"{n:012x}", float(n)) for n in range(1, 6)]
    path = table(tmp_path / "t.parquet", rows)
    fleet = told(path, "--top", "2", capsys=capsys)
    assert fleet["found"] == 5
    assert [bug["damage"] for bug in fleet["bugs"]] == [5.0, 4.0]
    assert main(["fleet", path, "--top", "2"]) == 0
    assert "3 more; --top shows them" in capsys.readouterr().out


def test_since_leaves_out_runs_that_began_before(tmp_path, capsys):
    april = datetime.datetime(2026, 4, 1)
    rows = [
        seen("old.jsonl", "a" * 12, 9.0),
        seen("new.jsonl", "b" * 12, 1.0, started=april),
        seen("unknown.jsonl", "c" * 12, 1.0, started=None),
    ]
    fleet = told(table(tmp_path / "t.parquet", rows), "--since", "2026-03-15", capsys=capsys)
    assert [bug["group"] for bug in fleet["bugs"]] == ["b" * 12]
    assert fleet["runs"] == 1


def test_runs_are_grouped_by_what_is_asked_for(tmp_path, capsys):
    rows = [seen("a.jsonl", "a" * 12, 1.0, host="n1"), seen("b.jsonl", "b" * 12, 1.0, host="n1"),
            seen("c.jsonl", "a" * 12, 5.0, host="n2")]  # fmt: skip
    path = table(tmp_path / "t.parquet", rows)
    fleet = told(path, "--group-by", "host", capsys=capsys)
    assert [(bug["group"], bug["runs"]) for bug in fleet["bugs"]] == [("n2", 1), ("n1", 2)]
    assert told(path, "--group-by", "library", capsys=capsys)["bugs"] == []


def test_table_that_was_written_gives_the_same_bugs_without_the_runs(tmp_path, capsys):
    add_run(tmp_path / "run.jsonl", leaks=True)
    assert main(["fleet", str(tmp_path), "-o", str(tmp_path / "t.parquet")]) == 0
    capsys.readouterr()
    before = told(tmp_path / "run.jsonl", capsys=capsys)
    (tmp_path / "run.jsonl").unlink()
    after = told(tmp_path / "t.parquet", capsys=capsys)
    for fleet in (before, after):
        fleet["bugs"][0].pop("worst")
    assert after == before


def test_run_that_was_killed_is_counted(tmp_path, capsys):
    rows = [seen("a.jsonl", "a" * 12, 1.0), seen("b.jsonl", "a" * 12, 1.0, finished=False)]
    [bug] = told(table(tmp_path / "t.parquet", rows), capsys=capsys)["bugs"]
    assert (bug["runs"], bug["unfinished"]) == (2, 1)


def test_line_says_how_many_runs_since_when_and_who_holds_it(tmp_path, capsys):
    later = _DAY + datetime.timedelta(days=9)
    rows = [
        seen("a.jsonl", "a" * 12, 5e9, type="app.Env", held_by="app.envs[*]", line="a.py:3"),
        seen("b.jsonl", "a" * 12, 5e9, started=later),
        replace(_ROW, run="c.jsonl"),
    ]
    assert main(["fleet", table(tmp_path / "t.parquet", rows)]) == 0
    out = capsys.readouterr().out
    assert "1 bug in 2 of 3 runs" in out
    assert "1. aaaaaaaaaaaa Env: 2 of 3 runs, 10.0 GB·h, 10.0 GB leaked" in out
    assert "held by app.envs[*], made at a.py:3" in out
    assert "first seen 2026-03-01, last 2026-03-10; on 1 host" in out


def test_files_that_cannot_be_read_hide_no_other(tmp_path, capsys):
    add_run(tmp_path / "run.jsonl", leaks=True)
    for number in range(5):
        (tmp_path / f"broken{number}.jsonl").write_text("nothing\n", encoding="utf-8")
    assert main(["fleet", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert "1 bug in 1 of 1 run" in said.out
    assert len(said.err.splitlines()) == 4
    assert "2 more files cannot be read" in said.err


@pytest.mark.parametrize("name", ["missing", "empty", "text.parquet", "other.parquet"])
def test_what_is_no_fleet_is_one_line(name, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.parquet").write_text("nothing", encoding="utf-8")
    duckdb.sql("SELECT 1 AS other").write_parquet(str(tmp_path / "other.parquet"))
    assert main(["fleet", str(tmp_path / name)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_many_files_are_read_by_several_processes_with_the_same_answer(tmp_path, capsys):
    for number in range(20):
        add_run(tmp_path / f"{number}.jsonl", leaks=number % 2 == 0)
    assert told(tmp_path, "--jobs", "2", capsys=capsys) == told(tmp_path, "--jobs", "1",
                                                                capsys=capsys)  # fmt: skip


def test_url_is_read_like_a_folder(tmp_path, capsys):
    fsspec = pytest.importorskip("fsspec")
    add_run(tmp_path / "run.jsonl", leaks=True)
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/runs/a/run.jsonl", (tmp_path / "run.jsonl").read_bytes())
    try:
        fleet = told("memory://runs", capsys=capsys)
    finally:
        memory.rm("/runs", recursive=True)
    assert fleet["bugs"][0]["worst"] == "memory:///runs/a/run.jsonl"


def test_url_that_cannot_be_read_hides_no_other(tmp_path, capsys, monkeypatch):
    fsspec = pytest.importorskip("fsspec")
    add_run(tmp_path / "run.jsonl", leaks=True)
    memory = fsspec.filesystem("memory")
    for name in ("a", "b", "c"):
        memory.pipe_file(f"/runs/{name}/run.jsonl", (tmp_path / "run.jsonl").read_bytes())
    get_file = type(memory).get_file

    def refuse_b(self, path, *more, **options):
        if "/b/" in path:
            raise PermissionError("denied")
        return get_file(self, path, *more, **options)

    monkeypatch.setattr(type(memory), "get_file", refuse_b)
    try:
        assert main(["fleet", "memory://runs"]) == 2
    finally:
        memory.rm("/runs", recursive=True)
    said = capsys.readouterr()
    assert "1 bug in 2 of 2 runs" in said.out
    assert "memory:///runs/b/run.jsonl cannot be read: denied" in said.err


def test_row_survives_the_table_as_it_is(tmp_path):
    row = seen("a.jsonl", "a" * 12, 1.5, fix='say "x"\nand y', type="π.T", rank=None)
    path = table(tmp_path / "t.parquet", [row])
    [back] = duckdb.sql(f"SELECT * FROM '{path}'").fetchall()
    assert dict(zip(COLUMNS, back, strict=True)) == asdict(row)
