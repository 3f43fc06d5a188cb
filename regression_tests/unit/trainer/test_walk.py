"""The manual's walk from the paper to the code ends where it says."""

from __future__ import annotations

import importlib
import re
from operator import attrgetter
from pathlib import Path

import pytest

import leakguard

PAGE = Path(leakguard.__file__).parent / "manual" / "contributing" / "reference-trainer.md"


def steps() -> list[tuple[str, str]]:
    """The lines of the algorithm, each with where it stands."""
    table = PAGE.read_text("utf-8").partition("| Algorithm 1 |")[2].partition("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    return [(line, place) for line, place in rows]


def test_there_is_a_line_for_each_of_the_algorithm() -> None:
    assert len(steps()) == 11


@pytest.mark.parametrize(("line", "place"), steps())
def test_a_line_stands_where_the_page_says_with_its_equation(line: str, place: str) -> None:
    module, *names = re.findall(r"`([^`]+)`", place)
    file = importlib.import_module(f"reference_trainer.{module.removesuffix('.py')}")
    found = [attrgetter(name)(file) for name in names]
    for equation in re.findall(r"`([^`]+)`", line):
        assert equation in found[0].__doc__
