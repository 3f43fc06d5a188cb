"""``--pattern``: any log by the user's own expression, and none that can hang the reader."""

from __future__ import annotations

import pytest

from leakguard import UsageError
from leakguard.analysis import diagnose
from leakguard.cli import main
from leakguard.errors import UnreadableRun
from leakguard.store.textlog.pattern import read_pattern

PATTERN = r"it=(?P<step>\d+).*used (?P<ram_mb>[\d.]+) megs(?:.*envs:(?P<count>\d+))?"


def log(tmp_path, rate, rounds=10):
    path = tmp_path / "train.log"
    lines = (f"[x] it={n} loss 0.1, used {500 + rate * n} megs, envs:{2 + n * (rate > 0)}\n"
             for n in range(1, rounds + 1))  # fmt: skip
    path.write_text("".join(("hello\n", *lines)))
    return path


def test_growing_log_is_a_leak_by_its_own_pattern(tmp_path):
    (run,) = read_pattern(log(tmp_path, 50), PATTERN)
    assert run.generations == tuple(range(1, 11))
    assert run.snapshots[0].metrics["rss"] == 550_000_000
    assert diagnose(run).verdict == "leak"


def test_flat_log_is_stable_by_the_same_pattern(tmp_path):
    (run,) = read_pattern(log(tmp_path, 0), PATTERN)
    assert diagnose(run).verdict == "stable"


def test_round_and_memory_may_stand_on_different_lines(tmp_path):
    path = tmp_path / "train.log"
    path.write_text("".join(f"== round {n}\nphase fit\nmem={n}.5 GiB\n" for n in range(1, 9)))
    pattern = r"round (?P<generation>\d+)|phase (?P<phase>\w+)|mem=(?P<ram>.*)"
    (run,) = read_pattern(path, pattern)
    assert run.generations == tuple(range(1, 9))
    assert run.phases == ("fit",)
    assert run.snapshots[-1].metrics["rss"] == int(8.5 * 2**30)


def test_catastrophic_pattern_ends_in_one_line_that_says_where(tmp_path, capsys, monkeypatch):
    path = tmp_path / "train.log"
    path.write_text("fine\n" + "a" * 60 + "!\n")
    assert main(["report", str(path), "--pattern", r"(?P<ram>(a+)+b)"]) == 2
    error = capsys.readouterr().err
    assert f"line 2 of {path}" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("pattern", "said"),
    [("(?P<ram>", "no regular expression"), (r"(?P<mem>\d+)", "'mem'"), (r"\d+", "no group")],
)
def test_pattern_that_says_nothing_is_refused(pattern, said, tmp_path):
    with pytest.raises(UsageError, match=said):
        read_pattern(log(tmp_path, 0), pattern)


def test_refused_pattern_is_shown_as_it_was_written(tmp_path):
    with pytest.raises(UsageError) as refused:
        read_pattern(log(tmp_path, 0), r"(?P<stp>\d+) (?P<ram>\d+)")
    assert r"--pattern '(?P<stp>\d+) (?P<ram>\d+)' has an unknown group 'stp'" in str(refused.value)


def test_log_that_nothing_matches_is_refused(tmp_path):
    with pytest.raises(UnreadableRun, match="its groups are ram"):
        read_pattern(log(tmp_path, 0), r"nothing (?P<ram>\d+)")
