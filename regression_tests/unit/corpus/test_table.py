"""The table of reports: what changed is told, what did not is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from regression_tests.benchmarks.leakbench.program import truth
from regression_tests.benchmarks.leakbench.score import Marks
from regression_tests.corpus.judge import Judged
from regression_tests.corpus.keys import Key, is_aside, read_keys, write_keys
from regression_tests.corpus.table import differences, line_of, read_table, sums, write_table

OPEN = next(f"set/{n}-leak" for n in range(100) if not is_aside(f"set/{n}-leak"))
ASIDE = next(f"set/{n}-leak" for n in range(100) if is_aside(f"set/{n}-leak"))
LEAK = Judged(OPEN, "leak", ("leak list A, held by x", "suspect B"), ("rss: filling",), (), 1)


def test_a_table_that_was_written_has_no_differences(tmp_path: Path) -> None:
    judged = [LEAK, replace(LEAK, run=ASIDE)]
    write_table({}, judged, tmp_path / "table.tsv")
    assert differences(judged, read_table(tmp_path / "table.tsv")) == []


def test_a_part_that_is_written_leaves_the_rest_of_the_table(tmp_path: Path) -> None:
    write_table({"other/run": "stable\t\t"}, [LEAK], tmp_path / "table.tsv")
    table = read_table(tmp_path / "table.tsv")
    assert table == {"other/run": "stable\t\t", OPEN: line_of(LEAK)}


def test_a_change_tells_what_was_and_what_is_and_nothing_else() -> None:
    table = {OPEN: line_of(LEAK)}
    (change,) = differences([replace(LEAK, cleared=())], table)
    assert change.told == f"{OPEN}\n  - rss: filling\n  + nothing"


def test_a_run_that_the_table_does_not_have_is_new() -> None:
    (change,) = differences([LEAK], {})
    assert change.told == f"{OPEN}: new"


def test_of_a_run_that_is_set_aside_the_table_tells_a_change_but_no_word() -> None:
    before, after = (replace(LEAK, run=ASIDE, verdict=verdict) for verdict in ("leak", "stable"))
    assert "held by" not in line_of(before) and "leak" not in line_of(before)
    assert len(differences([after], {ASIDE: line_of(before)})) == 1


def test_what_is_set_aside_is_summed_apart() -> None:
    rows = {row[0]: row for row in sums([LEAK, replace(LEAK, run=ASIDE)])}
    assert [rows[name][1] for name in ("set", "all", "set aside")] == ["1", "1", "1"]


def test_the_rule_of_what_is_set_aside_takes_about_a_fifth_and_never_differences() -> None:
    aside = sum(is_aside(f"set/program_{n}-leak") for n in range(1000))
    assert 150 < aside < 250
    assert is_aside("set/program_0-leak") == is_aside("set/program_0-leak")


def test_keys_are_read_as_they_were_written(tmp_path: Path) -> None:
    leak = truth("train", type="A B", holder=".kept", start=3, kind="arrays")
    keys = [Key("set/a", "a.py", (leak,)), Key("set/b", "b.py"), Key("set/c", "", skipped="no c")]
    write_keys(keys, tmp_path / "keys.jsonl")
    assert list(read_keys(tmp_path / "keys.jsonl").values()) == keys


def test_a_change_says_whether_it_is_for_the_better() -> None:
    missed = Marks(False, False, False, None, False, None, None, None, None)
    found = replace(missed, detected=True, named=True, holder=True)
    table = {OPEN: line_of(replace(LEAK, marks=(missed,), accused=0))}
    (change,) = differences([replace(LEAK, marks=(found,), accused=0)], table)
    before, after = change.told.splitlines()[1:]
    assert "right: 0 detected" in before and "0 holder" in before
    assert "right: 1 detected" in after and "1 holder" in after
