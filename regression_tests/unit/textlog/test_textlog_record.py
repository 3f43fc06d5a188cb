"""What a guard records in its log is the run file's; a block without its record is read by rows."""

from __future__ import annotations

import base64
import json
import random
import re
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from test_textlog_guard_log import ENV, leaking, written

from leakguard.analysis import diagnose
from leakguard.live.journal import Journal
from leakguard.model import Run
from leakguard.model.brink import Failure
from leakguard.render import render
from leakguard.render.log_block import snapshot_block
from leakguard.store import load_runs, schema
from leakguard.store.textlog import record

REPORTS = Path(__file__).parents[3] / "reports"
ROW = re.compile(r"^ {3}([\w-]{40,})$", re.MULTILINE)


def told(path: Path) -> str:
    """Return the JSON report of the one run at a path."""
    (run,) = load_runs(path)
    return render(diagnose(run), "json")


def logged(run: Run, every: int = 1) -> str:
    blocks: list[str] = []
    journal = Journal(run.info, None, blocks.append, every)
    for snapshot in run.snapshots:
        journal.add(snapshot, snapshot.generation)
    journal.finish(0.0, lambda report: None)
    return "".join(block + "\n" for block in blocks)


@pytest.mark.parametrize(
    "name", ["healthy", "buffer-save-spike", "old-population", "upload-backlog", "pair"]
)
def test_report_of_a_log_is_that_of_its_run_file_byte_for_byte(tmp_path, name):
    (recorded,) = load_runs(REPORTS / name / "run.jsonl")
    file, log = written(recorded, tmp_path)
    assert told(log) == told(file)


def test_snapshots_and_facts_are_those_of_the_run_file(tmp_path):
    run = leaking(9, 4)
    run = replace(
        run, info=replace(run.info, memory_limit=64, generation_means="2 batches", rank=3)
    )
    file, log = written(run, tmp_path)
    (read,), (kept,) = load_runs(log), load_runs(file)
    assert read == kept
    assert read.finished


@pytest.mark.parametrize("prefix", ["[rank3]: ", "2025-01-07 10:01:02,123 INFO ", "worker-3 | "])
def test_prefix_that_a_launcher_puts_before_each_line_changes_nothing(read, prefix):
    text = logged(leaking(9, 4))
    lines = "".join(f"{prefix}{line}\n" for line in text.splitlines())
    assert read(lines).snapshots == read(text).snapshots


def test_log_inside_of_json_lines_is_read_as_it_was(read):
    text = logged(leaking(9, 4))
    lines = "".join(json.dumps({"log": line + "\n"}) + "\n" for line in text.splitlines())
    assert read(lines).snapshots == read(text).snapshots


def test_log_that_leaves_out_generations_has_a_first_census_of_its_own(read):
    run = leaking(20, 1)
    hidden = [
        replace(s, census=None, watched={}) if (s.generation or 0) < 3 else s for s in run.snapshots
    ]
    seen = read(logged(replace(run, snapshots=tuple(hidden)), every=5))
    kept = [s for s in hidden if (s.generation or 0) % 5 == 0]
    generations = [s.generation for s in seen.snapshots if s.generation is not None]
    assert generations == sorted(generations)
    by_label = {s.label: s for s in seen.snapshots}
    for other in kept:
        one = by_label[other.label]
        assert (one.census is None) == (other.census is None)
        assert one.census is None or dict(one.census.types) == dict(other.census.types)
        assert one.census is None or one.census.complete


def test_end_of_a_long_log_is_read_without_the_first_census(read):
    text = logged(leaking(9, 1))
    seen = read(text[text.index("MEMORY SNAPSHOT: Gen 4: After evaluate") :])
    told = next(s for s in seen.snapshots if s.label == "Gen 4: After evaluate")
    assert told.metrics["rss"] == 1_064_000_000
    assert told.census.types[ENV].count == 66


def test_second_run_in_a_log_begins_with_its_facts(read_all):
    """Its generations go on where those of the first one ended, as after a checkpoint."""
    first = leaking(3, 1)
    marked = first.snapshots[0].__class__(0, "Run started", metrics={"rss": 9})
    later = [
        replace(s, generation=s.generation + 3, label=s.label.replace("Gen ", "Gen 1"))
        for s in first.snapshots[1:]
    ]
    runs = read_all(logged(first) + logged(replace(first, snapshots=(marked, *later))))
    assert [len(run.snapshots) for run in runs] == [len(first.snapshots), len(first.snapshots)]
    assert all(run.finished for run in runs)


def test_memory_that_ran_out_is_in_the_log_and_a_log_without_its_end_is_not_finished(read):
    blocks: list[str] = []
    run = leaking(3, 1)
    journal = Journal(run.info, None, blocks.append, 1)
    for snapshot in run.snapshots:
        journal.add(snapshot, snapshot.generation)
    assert not read("\n".join(blocks) + "\n").finished
    journal.fail(Failure("MemoryError", "no room"))
    seen = read("\n".join(blocks) + "\n")
    assert seen.failure == Failure("MemoryError", "no room")


def spoilt(text: str, spoil) -> str:
    """Return a log with the first row of one record replaced."""
    heading = text.index("MEMORY SNAPSHOT: Gen 2: After evaluate")
    row = ROW.search(text, heading)
    return text[: row.start(1)] + spoil(row[1]) + text[row.end(1) :]


def packed(lines: bytes) -> str:
    return base64.urlsafe_b64encode(zlib.compress(lines)).decode().rstrip("=")


LATER = b'{"schema": "leakguard.run/2", "run": {}}\n{"snapshot": {"serial": 0, "label": "x"}}\n'
SPOILS = {
    "cut": lambda row: row[: len(row) // 2],
    "gone": lambda row: "",
    "garbled": lambda row: row[:60] + ("A" if row[60] != "A" else "B") + row[61:],
    "broken into": lambda row: f"{row[:50]}\n   Epoch 3: 50%|████    | 8/16\n   {row[50:]} x",
    "of a later version": lambda row: packed(LATER),
    "of no snapshot": lambda row: packed(b'{"end": {"snapshots": 3}}\n'),
    "of no JSON": lambda row: packed(b"\xff\x00{"),
    "nested": lambda row: packed(b'{"snapshot":' * 10_000),
}


@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS)
def test_block_with_a_damaged_record_is_read_by_its_rows_and_the_others_as_recorded(read, spoil):
    whole = read(logged(leaking(4, 1)))
    seen = read(spoilt(logged(leaking(4, 1)), spoil))
    assert [s.label for s in seen.snapshots] == [s.label for s in whole.snapshots]
    at = next(n for n, s in enumerate(seen.snapshots) if s.label == "Gen 2: After evaluate")
    damaged = seen.snapshots[at]
    assert damaged.metrics["rss"] == 1_030_000_000  # as it is printed, and not 1,032 MB
    assert damaged.watched["TradingEnvironment"].count == 34
    assert seen.snapshots[:at] == whole.snapshots[:at]
    assert seen.snapshots[at + 1 :] == whole.snapshots[at + 1 :]
    assert seen.info.source == "log"
    assert any(note.startswith("blocks with a damaged record: 1;") for note in seen.notes)
    assert not whole.notes


def test_record_that_unpacks_without_end_is_none(monkeypatch):
    monkeypatch.setattr(record, "_MOST_UNPACKED", 10_000)
    line = schema.encode_snapshot(leaking(1, 1).snapshots[0])
    assert record.read_record([packed(line)]) is not None
    assert record.read_record([packed(line + b" " * 20_000)]) is None


def test_rows_of_a_record_are_no_longer_than_a_log_reader_takes():
    lines = random.Random(1).randbytes(10_000)
    block = snapshot_block(leaking(1, 1).snapshots[0], record=lines)
    rows = ROW.findall(block)
    assert len(rows) > 2
    assert max(map(len, block.splitlines())) < 2000
