"""What is no log of a run is refused with one line that says why and what to do."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from textlog_stories import leak_log

from leakguard.errors import UnreadableRun
from leakguard.model import Run
from leakguard.store.textlog import read_runs


def refusal(path: Path) -> str:
    with pytest.raises(UnreadableRun) as refused:
        read_runs(path)
    message = str(refused.value)
    assert "\n" not in message
    assert str(path) in message
    return message


def test_missing_file(tmp_path):
    assert "no such file" in refusal(tmp_path / "nowhere.log")


def test_folder(tmp_path):
    assert "directory" in refusal(tmp_path)


def test_empty_file(tmp_path):
    path = tmp_path / "empty.log"
    path.touch()
    assert "is empty" in refusal(path)


@pytest.mark.parametrize(
    "data",
    [bytes(range(256)) * 20, b"\x7fELF\x02\x01\x01" + bytes(500), b"\x80\x04\x95" + bytes(64)],
)
def test_binary_file(tmp_path, data):
    path = tmp_path / "weights.bin"
    path.write_bytes(data)
    assert "is binary" in refusal(path)


def test_gzipped_log_that_was_cut_tells_what_is_left(tmp_path):
    path = tmp_path / "training.log.gz"
    noise = random.Random(0).randbytes(3_000_000)
    path.write_bytes(gzip.compress(leak_log().encode() + noise)[:-1_000_000])
    assert len(read_runs(path)[0].snapshots) == 4


def test_log_with_a_hole_of_zeros_from_a_rotation_is_text(tmp_path):
    path = tmp_path / "training.log"
    path.write_bytes(bytes(100_000) + leak_log().encode())
    assert len(read_runs(path)[0].snapshots) == 4


def test_damaged_gzip(tmp_path):
    path = tmp_path / "training.log.gz"
    path.write_bytes(b"\x1f\x8b\x08\x00 not really")
    assert "cannot read" in refusal(path)


def test_text_without_a_snapshot_says_what_was_looked_for(tmp_path):
    path = tmp_path / "training.log"
    path.write_text("Training started\nTraining ended\n")
    message = refusal(path)
    assert "'MEMORY SNAPSHOT:'" in message
    assert "'RAM: 35.2 GB'" in message
    assert "--pattern" in message


def test_headings_without_an_rss_are_counted(tmp_path):
    path = tmp_path / "training.log"
    path.write_text("=" * 70 + "\n🔍 MEMORY SNAPSHOT: Gen 1: After x\n" + "=" * 70 + "\n")
    assert "found 1 snapshot headings without an RSS line" in refusal(path)


FUZZ = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
FRAGMENTS = [line.encode() for line in leak_log().splitlines()] + [
    b"MEMORY SNAPSHOT: x", b"MEMORY TREND", b"MEMORY GROWTH ANALYSIS", b"   RSS (actual RAM): 1 GB",
    b"Gen 1: a   1.00   +1 GB", b"Baseline: x", b"Current: y", b"   A : 1 -> 2 (+1)", b"RAM: 1 GB",
    b"Generation 1 / 2", b"Live a: 1", b"--", b"LEAK DETECTED:", b"[rank0]: ",
    b"2025-01-07 10:00:00 ", b"\x1b[0m", b"\xff", b"\r", b"\n", b"{\"log\": \"",
    b"=" * 20, b"<- expected 1", b"1e999 GB",
    b"9" * 400, b"   Gauges:", b"Large Objects (>= 5 MB):", b"   a (1,) b on c:  1 MB", b"\x00",
]  # fmt: skip


@settings(FUZZ, max_examples=400)
@given(
    parts=st.lists(
        st.one_of(st.sampled_from(FRAGMENTS), st.binary(max_size=40)).flatmap(
            lambda part: st.sampled_from([part, part + b"\n", part + b"\r\n"])
        ),
        max_size=60,
    )
)
def test_any_bytes_give_runs_or_a_refusal(tmp_path, parts):
    path = tmp_path / "fuzz.log"
    path.write_bytes(b"".join(parts))
    try:
        runs = read_runs(path)
    except UnreadableRun as refused:
        assert "\n" not in str(refused)
        return
    assert runs
    for run in runs:
        assert isinstance(run, Run)
        assert [s.serial for s in run.snapshots] == list(range(len(run.snapshots)))
        assert all(0 <= value < 2**63 for s in run.snapshots for value in s.metrics.values())
        assert all(0 <= w.count < 2**63 for s in run.snapshots for w in s.watched.values())


@settings(FUZZ, max_examples=300)
@given(
    data=st.data(),
    junk=st.binary(max_size=30),
)
def test_bytes_thrown_into_a_log_break_nothing(tmp_path, data, junk):
    log = leak_log().encode()
    start = data.draw(st.integers(0, len(log)))
    stop = data.draw(st.integers(start, min(len(log), start + 200)))
    path = tmp_path / "fuzz.log"
    path.write_bytes(log[:start] + junk + log[stop:])
    try:
        runs = read_runs(path)
    except UnreadableRun:
        return
    assert all(run.snapshots for run in runs)
