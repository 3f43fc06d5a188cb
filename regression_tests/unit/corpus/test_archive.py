"""Runs in one file: what goes in comes out, and what is no longer the same is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from regression_tests.corpus import archive
from regression_tests.corpus.archive import Damaged, Slimmer, pack, unpack

RUNS = [("calm/one", {"run.jsonl": b"a\n"}), ("many/two", {"1.jsonl": b"b\n", "2.jsonl": b"c\n"})]


def test_runs_come_out_as_they_went_in(tmp_path: Path) -> None:
    pack(RUNS, tmp_path / "runs.tar.xz")
    assert list(unpack(tmp_path / "runs.tar.xz")) == RUNS


def test_the_same_runs_make_the_same_file(tmp_path: Path) -> None:
    assert pack(RUNS, tmp_path / "one.tar.xz") == pack(RUNS, tmp_path / "two.tar.xz")


def test_another_file_than_the_hash_was_made_of_is_refused(tmp_path: Path) -> None:
    pack(RUNS, tmp_path / "runs.tar.xz")
    (tmp_path / "runs.tar.xz").write_bytes(b"something else")
    with pytest.raises(Damaged, match="not the one whose hash"):
        list(unpack(tmp_path / "runs.tar.xz"))


def test_a_missing_file_tells_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(Damaged, match="corpus record"):
        list(unpack(tmp_path / "runs.tar.xz"))


def test_more_than_the_repository_takes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 10)
    with pytest.raises(Damaged, match="larger than"):
        pack(RUNS, tmp_path / "runs.tar.xz")


def test_packing_that_is_interrupted_leaves_the_file_of_before(tmp_path: Path) -> None:
    pack(RUNS, tmp_path / "runs.tar.xz")

    def torn() -> Iterator[tuple[str, dict[str, bytes]]]:
        yield RUNS[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pack(torn(), tmp_path / "runs.tar.xz")
    assert list(unpack(tmp_path / "runs.tar.xz")) == RUNS


def test_a_packed_run_has_no_path_of_the_machine_and_no_digits_that_say_nothing() -> None:
    slim = Slimmer({"/home/jo": "/home/user", "/home/jo/checkout": "/checkout"})
    line = (
        b'{"at": "/home/jo/checkout/a.py, /home/jo", "seconds": 1.23456789e-05, "rss": 123456789}'
    )
    assert json.loads(slim(line)) == {
        "at": "/checkout/a.py, /home/user",
        "seconds": 1.23457e-05,
        "rss": 123456789,
    }


def test_the_torn_last_line_of_a_killed_run_stays_torn() -> None:
    assert Slimmer({"/x": "/y"})(b'{"a": 1}\n{"b": ') == b'{"a":1}\n{"b": '
