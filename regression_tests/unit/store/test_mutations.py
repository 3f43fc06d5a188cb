"""Logs and run files that were changed at random give runs or one line, never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from leakguard.store import load_runs, schema
from leakguard.testing import RunStory, State
from regression_tests.benchmarks.fuzz.targets import READERS, read_log_or_run, seeds
from regression_tests.benchmarks.fuzz.trial import failures, tried

# Of each kind; `python -m regression_tests.benchmarks.fuzz --examples 1000000` goes on.
EXAMPLES = 300


@pytest.mark.parametrize("seed", range(2))
def test_mutated_inputs_give_runs_or_a_refusal_in_one_line(tmp_path, seed):
    found = [(f.kind, f.reason, f.data[:200]) for f in failures(EXAMPLES, seed, tmp_path / "input")]
    assert found == []


def test_inputs_that_are_mutated_can_be_read(tmp_path):
    for kind, data in ((kind, data) for kind, good in seeds().items() for data in good):
        path = tmp_path / kind
        path.write_bytes(data)
        READERS[kind](path)
        if READERS[kind] is read_log_or_run:
            assert all(len(run.snapshots) > 1 for run in load_runs(path))


@pytest.mark.parametrize(
    "nested", [b"[" * 5000 + b"]" * 5000, b'{"a":' * 5000 + b"1" + b"}" * 5000]
)
def test_deeply_nested_line_does_not_spoil_the_file(tmp_path, nested):
    story = RunStory()
    story.baseline(State({"rss": 10**9}))
    story.generation(work=State({"rss": 2 * 10**9}))
    run = story.run()
    lines = [schema.encode_header(run.info), *map(schema.encode_snapshot, run.snapshots)]
    lines.insert(2, b'{"snapshot":{"serial":9,"label":"x","unknown":' + nested + b"}}\n")
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join(lines))
    (read,) = load_runs(path)
    assert [s.label for s in read.snapshots] == [s.label for s in run.snapshots]
    assert any("nested too deeply" in note for note in read.notes)


FOUND = sorted((Path(__file__).parent / "found_by_fuzzing").iterdir())


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_inputs_that_were_found_by_fuzzing_are_read_or_refused_in_one_line(tmp_path, path):
    kind = next(kind for kind in READERS if path.name.startswith(kind))
    assert tried(kind, path.read_bytes(), tmp_path / "input") is None
