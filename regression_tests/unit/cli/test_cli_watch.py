"""``leakguard watch``: what it shows of something that goes on, and that it reads on, not anew."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time

import pytest
import training_logs
from hypothesis import given, settings
from hypothesis import strategies as st

from leakguard import LeakGuard
from leakguard.cli import main
from leakguard.live.outside_run import OutsideRun
from leakguard.store import load_runs
from leakguard.store.following import FollowedFolder, FollowedLog, FollowedRun

LOOP = """
import sys, time
from leakguard import LeakGuard
kept = []
with LeakGuard(out=sys.argv[1], report=None, max_overhead=None) as guard:
    for generation in guard.generations(range(1, 13)):
        with guard.phase("evaluate"):
            kept.append([bytearray(100_000) for _ in range(16)])
    sys.stdin.read()
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent(LOOP), encoding="utf-8")
    return path


def started(program, out):
    """Start a loop that stays in its last line until its standard input is closed."""
    process = subprocess.Popen([sys.executable, str(program), str(out)], stdin=subprocess.PIPE)
    following = None
    while following is None or not following.runs() or len(following.runs()[0].generations) < 12:
        assert process.poll() is None
        time.sleep(0.05)
        files = [out] if out.suffix else list(out.glob("*.jsonl"))
        if files and files[0].exists():
            following = following or FollowedRun(files[0])
            following.poll()
    return process


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    kept = []
    with LeakGuard(out=path, report=None, trace="off") as guard:
        for _ in guard.generations(range(1, 9)):
            with guard.phase("evaluate"):
                kept.append([bytearray(100_000) for _ in range(6)])
    return path.read_bytes()


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_run_read_piece_by_piece_is_the_run_read_at_once(recorded, tmp_path_factory, data):
    path = tmp_path_factory.mktemp("pieces") / "run.jsonl"
    cuts = data.draw(st.lists(st.integers(0, len(recorded)), max_size=5).map(sorted))
    path.touch()
    following = FollowedRun(path)
    for cut in (*cuts, len(recorded)):
        path.write_bytes(recorded[:cut])
        following.poll()
    (run,) = following.runs()
    (whole,) = load_runs(path)
    assert run == whole


@settings(max_examples=20, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("text", [training_logs.leaking(), "RAM: 1.0 GB\nRAM: 1.1 GB\n" * 9])
def test_log_read_piece_by_piece_is_the_log_read_at_once(text, tmp_path_factory, data):
    path = tmp_path_factory.mktemp("pieces") / "training.log"
    raw = text.encode()
    cuts = data.draw(st.lists(st.integers(1, len(raw)), max_size=5).map(sorted))
    path.write_bytes(raw[:1])
    following = FollowedLog(path)
    for cut in (*cuts, len(raw)):
        path.write_bytes(raw[:cut])
        following.poll()
        following.runs()
    assert following.runs() == load_runs(path)


def test_what_was_read_once_is_not_read_again(recorded, tmp_path):
    path = tmp_path / "run.jsonl"
    half = recorded.index(b"\n", len(recorded) // 2) + 1
    path.write_bytes(recorded[:half])
    following = FollowedRun(path)
    following.poll()
    seen = len(following.runs()[0].snapshots)
    path.write_bytes(b"\0" * half + recorded[half:])
    following.poll()
    (run,) = following.runs()
    assert len(run.snapshots) > seen
    assert run.notes == ()


def test_file_that_was_begun_anew_is_followed_from_its_start(recorded, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(recorded)
    following = FollowedRun(path)
    following.poll()
    path.write_bytes(recorded[: recorded.index(b"\n", len(recorded) // 3) + 1])
    following.poll()
    (run,) = following.runs()
    assert (run, run.finished) == (load_runs(path)[0], False)


def test_files_that_join_a_directory_are_followed(recorded, tmp_path):
    following = FollowedFolder(tmp_path)
    assert not following.poll()
    (tmp_path / "a.jsonl").write_bytes(recorded)
    assert following.poll()
    assert len(following.runs()) == 1
    assert not following.poll()


def test_into_a_pipe_goes_a_line_for_each_news_until_the_run_ends(program, tmp_path):
    out = tmp_path / "run.jsonl"
    process = started(program, out)
    watching = subprocess.Popen(
        [sys.executable, "-m", "leakguard", "watch", str(out), "--every", "0.1"],
        stdout=subprocess.PIPE,
        text=True,
    )
    first = watching.stdout.readline()
    process.communicate(b"")
    rest, _ = watching.communicate()
    assert first.startswith("generation 12 | RSS ")
    assert "LEAK: In evaluate" in first + rest
    assert watching.returncode == 0
    assert "\x1b" not in first + rest


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_process_with_a_guard_is_watched_by_its_run_file(program, tmp_path, capsys):
    process = started(program, tmp_path / "run.jsonl")
    try:
        assert main(["watch", str(process.pid), "--once"]) == 0
    finally:
        process.communicate(b"")
    shown = capsys.readouterr().out
    assert "LEAK: In evaluate" in shown
    assert "Memory by phase" in shown
    assert "kept[*]" in shown


def test_directory_is_shown_with_a_row_for_each_process(program, tmp_path, capsys):
    (tmp_path / "runs").mkdir()
    process = started(program, tmp_path / "runs")
    try:
        assert main(["watch", str(tmp_path / "runs"), "--once"]) == 0
    finally:
        process.communicate(b"")
    assert "running" in capsys.readouterr().out


def test_process_without_a_guard_is_sampled_and_the_limits_are_said(capsys):
    assert main(["watch", str(os.getpid()), "--once", "--every", "0.05"]) == 0
    shown = capsys.readouterr().out
    assert f"process {os.getpid()}" in shown
    assert "has no types, holders or lines" in shown


def test_outside_curve_that_rises_is_suspect_at_most_and_a_flat_one_stable():
    verdicts = {}
    for name, rate in (("rising", 5_000_000), ("flat", 0)):
        sizes = iter(range(12))

        def read(pid, sizes=sizes, rate=rate):
            return {"rss": 100_000_000 + rate * next(sizes, 0)}

        run = OutsideRun(1, read=read, clock=lambda: 0.0)
        for _ in range(10):
            run.poll()
        from leakguard.analysis import diagnose

        verdicts[name] = diagnose(run.runs()[0]).verdict
    assert verdicts == {"rising": "suspect", "flat": "stable"}


@pytest.mark.parametrize(
    ("what", "said"), [("nothere.log", "no such file"), ("999999999", "there is no process")]
)
def test_what_cannot_be_watched_is_refused_in_one_line(what, said, capsys):
    assert main(["watch", what]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_view_fits_its_width(recorded, tmp_path, capsys, monkeypatch):
    path = tmp_path / "run.jsonl"
    path.write_bytes(recorded)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["watch", str(path), "--once"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "% of the run" in " ".join(out.split())  # the price of watching is not cut off
