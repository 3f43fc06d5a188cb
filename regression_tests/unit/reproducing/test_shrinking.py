"""What shrinking leaves of a test, with a judge in place of pytest."""

from __future__ import annotations

import ast
from types import SimpleNamespace

from leakguard.reproducing.shrinking import shrunk
from leakguard.reproducing.sketch import Sketch, Turn


class Judge:
    """Says that a test fails if its text has all of some words."""

    def __init__(self, *words: str, unsteady: str = "", most: int = 100) -> None:
        self.words, self.unsteady, self.most, self.runs = words, unsteady, most, 0

    @property
    def is_over(self) -> bool:
        return self.runs >= self.most

    def fails(self, sketch: Sketch) -> bool:
        return not self.is_over and self.played(sketch).outcome == "fails"

    def played(self, sketch: Sketch, *, again: bool = False) -> SimpleNamespace:
        self.runs += 1
        text = sketch.text("test_it", "")
        has_all = all(word in text for word in self.words)
        by_chance = again and self.unsteady and self.unsteady not in text
        return SimpleNamespace(outcome="fails" if has_all and not by_chance else "passes")


def sketch(times: int = 10) -> Sketch:
    head = ast.parse("import zlib\nrows = []\nrates = {}\nrates['a'] = 1").body
    turn = ast.parse("x = 1\nif x:\n    y = 2\n    rows.append(y)\nrates.update(b=2)").body
    return Sketch("", tuple(head), (), Turn(tuple(turn)), times=times)


def test_only_what_the_failure_needs_is_left():
    text = shrunk(sketch(), Judge("rows.append")).text("test_it", "")
    assert "rates" not in text and "zlib" not in text
    assert "generations=3" in text and "range" not in text
    assert "rows = []" in text and "rows.append(y)" in text


def test_no_test_runs_without_a_name_that_it_needs():
    seen: list[str] = []

    class Recording(Judge):
        def played(self, sketch, *, again=False):
            seen.append(sketch.text("test_it", ""))
            return super().played(sketch, again=again)

    shrunk(sketch(), Recording("rows.append"))
    assert all("rows = []" in text for text in seen if "rows.append" in text)


def test_test_that_fails_by_chance_is_given_up_for_the_one_before():
    text = shrunk(sketch(1), Judge("rows.append", unsteady="generations=9")).text("test_it", "")
    assert text == sketch(1).text("test_it", "")


def test_runs_are_bounded():
    judge = Judge("rows.append", most=4)
    shrunk(sketch(), judge)
    assert judge.runs <= 4 + 4  # and what failed is run once more
