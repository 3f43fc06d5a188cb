"""The lint of words finds what the glossary avoids, where a person reads, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from regression_tests.manual.tables import ROOT
from regression_tests.manual.words import (
    Text,
    avoided,
    complaints,
    prose,
    read_by_people,
    spoken,
)

_FILE = ROOT / "README.md"


def complained(words: str) -> list[str]:
    return list(complaints(iter([Text(_FILE, 1, words)])))


def said(source: str) -> list[str]:
    return [text.words for text in spoken(Path("module.py"), source)]


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        ("looks are dear", "looks are expensive"),
        ("it grows by 3 kB a generation", "it grows by 3 kB per generation"),
        ("the gravest verdict", "the worst verdict"),
        ("a level that wanders", "random drift"),
    ],
)
def test_word_to_avoid_is_found_and_its_better_is_not(worse, better):
    [complaint] = complained(f"first line\nand {worse}")
    assert complaint.startswith("README.md:2: ")
    assert complained(f"first line\nand {better}") == []


def test_code_of_a_page_is_not_read():
    assert complained(prose("`keeper` stays\n\n```\nkeeper = 1\n```\n")) == []
    assert complained(prose("the keeper\n")) != []


def test_value_in_a_text_of_the_program_counts_as_one():
    [text] = said('reason = f"{size} a generation"')
    assert text == "{} a generation"
    assert complained(text) != []


def test_docstring_is_no_text_of_the_program():
    assert said('"""It is dear here."""\nx = "not so here"\n') == ["not so here"]


def test_glossary_defines_forty_terms_each_once():
    page = (ROOT / "leakguard/manual/contributing/glossary.md").read_text("utf-8")
    terms = [line.split("**")[1] for line in page.splitlines() if line.startswith("**")]
    assert len(terms) == len(set(terms)) >= 40
    assert len(avoided()) > 20


def test_what_people_read_has_no_word_to_avoid():
    assert list(complaints(read_by_people())) == []
