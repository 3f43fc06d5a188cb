"""Runs in one file: what goes in comes out, and what is no longer the same is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from regression_tests.benchmarks.playing.entry import Entry
from regression_tests.benchmarks.playing.player import Player
from regression_tests.corpus import archive
from regression_tests.corpus.archive import Damaged, Slimmer, pack, unpack
from regression_tests.corpus.keys import Key, read_keys, write_keys
from regression_tests.corpus.packing import pack_recorded

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


def test_what_is_not_played_anew_stays_as_it_was_packed(tmp_path: Path) -> None:
    packed, keys = tmp_path / "runs.tar.xz", tmp_path / "keys.jsonl"
    old, new = b'{"at":1}\n', b'{"at":2}\n'
    pack([("set/a", {"run.jsonl": old}), ("set/c", {"run.jsonl": old})], packed)
    known = [Key("set/a", "p.py"), Key("set/c", "p.py"), Key("set/d", "p.py", skipped="no torch")]
    write_keys(known, keys)
    player = Player(tmp_path / "runs")
    entries = [Entry("set", name, "p.py", (), list) for name in "abcd"]
    (player.folder / "set").mkdir(parents=True)
    for entry, failure in zip(entries[1:3], (None, "exit status 1"), strict=True):
        note = {"key": entry.key, "failure": failure}
        (player.folder / f"{entry.key}.json").write_text(json.dumps(note), "utf-8")
        (player.folder / f"{entry.key}.jsonl").write_bytes(new)

    pack_recorded(player, entries, packed, keys)
    runs = {run: files["run.jsonl"] for run, files in unpack(packed)}
    assert runs == {"set/a": old, "set/b": new, "set/c": old}
    skipped = {run: key.skipped for run, key in read_keys(keys).items()}
    assert skipped == dict.fromkeys(runs) | {"set/d": "no torch"}
