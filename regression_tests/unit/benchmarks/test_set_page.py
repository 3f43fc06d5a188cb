"""The page of a set: what is right and wrong of each leak, in one play and in several."""

from __future__ import annotations

from pathlib import Path

import pytest

from regression_tests.benchmarks.leakbench.program import Truth
from regression_tests.benchmarks.leakbench.score import Said
from regression_tests.benchmarks.playing.entry import Entry, python
from regression_tests.benchmarks.playing.manifest import Manifest
from regression_tests.benchmarks.playing.page import keep_page, page
from regression_tests.benchmarks.playing.play import Answer, Play, keep, kept
from regression_tests.benchmarks.sets import MANIFESTS

LEAK = Entry("set", "web-leak", "web.py", (Truth(("serve",), holder=(".cache",)),), python)
CALM = Entry("set", "web-clean", "web.py", (), python)
RIGHT = Answer("leak", (Said("leak", phase="serve", holder="app.cache[*]", start=1),))
ELSEWHERE = Answer("leak", (Said("leak", phase="load", holder="app.cache[*]", start=1),))
NOTHING, BROKEN = Answer("stable"), Answer(failure="exit status 1: ValueError")


def page_of(*answers: Answer, entry: Entry = LEAK, asked: tuple[str, ...] = ("holder", "phase")):
    manifest = Manifest("set", lambda: iter((entry,)), "Programs.", asked)
    plays = [Play(entry.key, "idle", turn, answer) for turn, answer in enumerate(answers)]
    return page(manifest, [(entry, plays)], "abc")


def test_what_is_right_of_a_leak_stands_in_its_row() -> None:
    text = page_of(ELSEWHERE)
    assert "| web-leak | `.cache` | leak | yes | right | **wrong** | 0 |" in text
    assert "1/1 found, 1/1 named; right holder 1/1, phase 0/1" in text
    assert "got wrong" in text


def test_nothing_is_listed_as_wrong_where_all_is_right() -> None:
    assert "got wrong" not in page_of(RIGHT) + page_of(NOTHING, entry=CALM)


def test_a_calm_side_that_is_accused_is_counted() -> None:
    text = page_of(RIGHT, entry=CALM)
    assert "1 of 1 accused" in text
    assert "| web-clean |  | leak | - | - | - | 1 |" in text


def test_several_plays_share_a_row_that_says_how_many_differ() -> None:
    text = page_of(RIGHT, RIGHT, ELSEWHERE)
    assert "| 2 right, 1 **wrong** |" in text
    assert "0 of 1 right every time" in text and "1 of 1 with one verdict" in text


def test_no_answer_is_not_right() -> None:
    text = page_of(BROKEN)
    assert "no answer: 1 of 1 runs" in text and "exit status 1: ValueError" in text


def test_a_set_that_asks_nothing_of_a_leak_is_counted_by_plays() -> None:
    assert "| web-clean | 1 of 2 |" in page_of(NOTHING, BROKEN, entry=CALM, asked=())


def test_plays_are_read_as_they_were_kept(tmp_path: Path) -> None:
    plays = [Play("set/a", "idle", 0, RIGHT), Play("set/b", "loaded", 2, BROKEN)]
    for play in plays:
        keep(play, tmp_path / "plays.jsonl")
    assert list(kept(tmp_path / "plays.jsonl")) == plays
    assert list(kept(None)) == []


def test_a_page_that_is_made_again_has_one_command_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in (["a", "-o", "one.md"], ["b", "-o", "two.md"], ["c", "-o", "one.md"]):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("sys.argv", ["x", *words])
        keep_page(Path(words[-1]), "text", "m")
    assert (
        tmp_path / "COMMAND"
    ).read_text() == "python -m m b -o two.md\npython -m m c -o one.md\n"


@pytest.mark.parametrize("name", MANIFESTS)
def test_each_manifest_names_its_entries_once(name: str) -> None:
    entries = list(MANIFESTS[name].entries())
    assert entries and {entry.group for entry in entries} == {name}
    assert len({entry.name for entry in entries}) == len(entries)
