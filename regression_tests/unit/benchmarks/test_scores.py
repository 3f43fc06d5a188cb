"""The benchmarks' own arithmetic: an answer that is wrong must not count as right."""

from __future__ import annotations

from pathlib import Path

import pytest

from regression_tests.benchmarks.first_sight.script import Unreadable, read_script, scripts_of
from regression_tests.benchmarks.leakbench.program import Planted, truth
from regression_tests.benchmarks.leakbench.score import Case, Said, marks_of, strangers

FRAMES = truth("rollout", type="ndarray", holder=".frames", size=1_000)
CACHE = truth("train", type="ndarray", holder=".cache", start=50, within=4, size=4_000)


def case(said: list[Said], *truths: object, leak: bool = True) -> Case:
    planted = Planted("program", "program.py", truths)  # type: ignore[arg-type]
    return Case("leakguard", planted, leak, tuple(said), 1.0)


def said(**words: object) -> Said:
    given = {"verdict": "leak", "kind": "arrays", "type": "numpy.ndarray"} | words
    return Said(**given)  # type: ignore[arg-type]


def test_each_leak_is_marked_by_its_own_accusation() -> None:
    second = said(phase="train", holder="Learner.cache[*]", start=52, size=3_900)
    first = said(phase="rollout", holder="Learner.frames[*]", start=1, size=1_100)
    marks = marks_of(case([second, first], FRAMES, CACHE))
    assert [mark.wrong for mark in marks] == [[], []]


def test_one_accusation_does_not_serve_for_two_leaks() -> None:
    first = said(phase="rollout", holder="Learner.frames[*]", start=1, size=5_000)
    marks = marks_of(case([first], FRAMES, CACHE))
    assert [mark.detected for mark in marks] == [True, False]
    assert marks[0].wrong == ["size"]


def test_a_start_beyond_its_tolerance_is_wrong() -> None:
    late = said(phase="train", holder=".cache", start=55, size=4_000)
    assert marks_of(case([late], CACHE))[0].wrong == ["start"]


def test_a_suspect_is_not_a_detection() -> None:
    mark = marks_of(case([said(verdict="suspect", holder=".cache")], CACHE))[0]
    assert (mark.detected, mark.suspected) == (False, True)


def test_memory_of_c_that_is_called_a_type_is_wrong() -> None:
    native = truth("encode", kind="native memory")
    wrong = said(kind="native", type="str", phase="encode", start=1)
    right = said(kind="native", type=None, phase="encode", start=1)
    assert marks_of(case([wrong], native))[0].wrong == ["type"]
    assert marks_of(case([right], native))[0].wrong == []


def test_an_accusation_of_something_else_is_a_stranger() -> None:
    other = said(type="app.Order", holder="Market.orders[*]", kind="instances")
    assert strangers(case([other], CACHE)) == [other]


SCRIPT = """import sys
# /// truth
# about = "sessions stay"
# [[leak]]
# type = "app.Session"
# holder = "sessions"
# phase = ["log_in", "log_out"]
# start = 61
# ///
"""


def test_the_truth_of_a_script_is_read_from_its_comment(tmp_path: Path) -> None:
    file = tmp_path / "web.py"
    file.write_text(SCRIPT)
    (one,) = read_script(file).truths
    assert one == truth("log_in log_out", type="Session", holder="sessions", start=61, within=3)


UNPREPARED = """import helpers
sessions = {}
# /// truth
# about = "sessions stay"
# [[leak]]
# type = "Session"
# line = "sessions[token] = Session(token)"
# ///
for token in helpers.tokens():
    sessions[token] = Session(token)
"""


def test_a_line_is_asked_by_its_text_and_a_start_only_where_the_author_knows(
    tmp_path: Path,
) -> None:
    file = tmp_path / "web.py"
    file.write_text(UNPREPARED)
    truths = read_script(file).truths
    assert truths[0].lines == ("web.py:10",)
    right, wrong = said(type="Session", site="web.py:10 in <module>"), said(site="web.py:1 in f")
    assert marks_of(case([right], *truths))[0].wrong == []
    assert marks_of(case([wrong], *truths))[0].wrong == ["type", "line"]


def test_a_line_may_stand_in_a_module_of_the_script(tmp_path: Path) -> None:
    (tmp_path / "helpers").mkdir()
    (tmp_path / "helpers" / "desk.py").write_text("def log_in(token):\n    return Session(token)\n")
    file = tmp_path / "web.py"
    file.write_text(UNPREPARED.replace("sessions[token] = ", "return ", 1))
    assert read_script(file).truths[0].lines == ("desk.py:2",)


def test_a_script_without_a_leak_is_a_look_alike(tmp_path: Path) -> None:
    file = tmp_path / "calm.py"
    file.write_text('# /// truth\n# about = "a cache"\n# ///\n')
    assert scripts_of(tmp_path)[0].truths == ()


@pytest.mark.parametrize(
    "text",
    ["", SCRIPT.replace("start = 61", "begin = 61"), UNPREPARED.replace('line = "s', 'line = "')],
)
def test_a_script_without_a_readable_truth_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "web.py"
    file.write_text(text)
    with pytest.raises(Unreadable, match=r"web\.py"):
        read_script(file)
