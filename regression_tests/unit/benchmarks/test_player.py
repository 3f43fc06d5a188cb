"""The player: each program once, in a folder of its own, for so long and no longer."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from regression_tests.benchmarks.playing.entry import OUT, Entry, python
from regression_tests.benchmarks.playing.player import Player, in_turn
from regression_tests.benchmarks.sets import MANIFESTS

WRITES = "import sys; open(sys.argv[1], 'a').write('played\\n')"


def entry(name: str, code: str, *words: str, **more: object) -> Entry:
    return Entry("set", name, "x.py", (), partial(python, "-c", code, *words), **more)  # type: ignore[arg-type]


def test_a_program_is_played_once(tmp_path: Path) -> None:
    player, one = Player(tmp_path, jobs=1), entry("one", WRITES, OUT)
    first, second = list(player.play([one])), list(player.play([one]))
    assert first == second and first[0].failure is None
    assert (tmp_path / "set" / "one.jsonl").read_text() == "played\n"


def test_a_program_without_end_is_ended_and_says_so(tmp_path: Path) -> None:
    endless = entry("endless", "import time; time.sleep(600)")
    (playing,) = Player(tmp_path, patience=0.2).play([endless])
    assert playing.failure == "no end within 0 s"


def test_a_program_that_fails_tells_its_last_line(tmp_path: Path) -> None:
    (playing,) = Player(tmp_path).play([entry("bad", "raise ValueError('no data')")])
    assert playing.failure == "exit status 1: ValueError: no data"


def test_a_program_that_writes_no_run_is_no_recording(tmp_path: Path) -> None:
    (playing,) = Player(tmp_path).play([entry("silent", "pass")])
    assert playing.failure == "it wrote no run"


def test_what_needs_a_package_that_is_missing_is_skipped_with_its_name(tmp_path: Path) -> None:
    lacking = entry("lacking", WRITES, OUT, needs=("no_such_package",))
    (playing,) = Player(tmp_path).play([lacking])
    assert playing.failure == "needs no_such_package, not installed here"


def test_a_run_that_a_program_names_itself_is_found(tmp_path: Path) -> None:
    own = entry("own", WRITES, "s1.leaky.jsonl", written=("*.jsonl",))
    assert [r.failure for r in Player(tmp_path).play([own])] == [None]
    assert Player(tmp_path).run_of(own) == tmp_path / "set" / "own.jsonl"


def test_a_program_that_is_a_text_lies_in_the_folder_that_it_is_played_in(tmp_path: Path) -> None:
    made = partial(python, "program.py", OUT)
    text = Entry("set", "text", "program.py", (), made, files={"program.py": WRITES})
    assert [r.failure for r in Player(tmp_path).play([text])] == [None]


def test_sets_take_turns() -> None:
    entries = [Entry(group, name, "", (), python) for group, name in ("a1", "a2", "b1", "c1")]
    assert [e.key for e in in_turn(entries)] == ["a/1", "b/1", "c/1", "a/2"]


def test_programs_of_strangers_have_a_side_each_with_and_without_leaks() -> None:
    by_key = {entry.key: entry for entry in MANIFESTS["strangers_2"].entries()}
    leak, clean = by_key["strangers_2/crawler-leak"], by_key["strangers_2/crawler-clean"]

    assert [truth.holder for truth in leak.truths] == [("leases",), ("failures",)]
    assert clean.truths == ()
    command, _ = leak.told(Path("run.jsonl"))
    assert command[1:4] == ["-m", "leakguard", "run"]
    assert (leak.command()[-1], clean.command()[-1]) == ("leak", "fixed")
