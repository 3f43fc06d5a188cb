"""``leakguard manual``: every page of the manual is readable in a terminal, without a network."""

from __future__ import annotations

import re

import pytest

from leakguard.cli import main
from leakguard.cli.manual import pages

_NAMES = [name for _, name, _ in pages()]


def test_without_a_page_all_are_listed_with_their_titles(capsys):
    assert main(["manual"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for _, name, file in pages():
        title = file.read_text("utf-8").partition("\n")[0].removeprefix("# ")
        assert any(line.split() == [name, *title.split()] for line in lines)


def test_no_two_pages_share_a_name():
    assert len(_NAMES) == len(set(_NAMES)) > 20


@pytest.mark.parametrize("name", _NAMES)
def test_page_is_shown_without_marks_of_the_site(name, capsys):
    assert main(["manual", name]) == 0
    out = capsys.readouterr().out
    assert "](" not in out and "::: " not in out and "```" not in out


@pytest.mark.parametrize("said", ["first-leak", "First leak", "tutorial/first-leak.md"])
def test_page_is_found_by_name_title_or_path(said, capsys):
    assert main(["manual", said]) == 0
    assert "best.append(Rollout())" in capsys.readouterr().out


def test_link_to_another_page_becomes_the_command_that_shows_it(capsys):
    main(["manual", "first-leak"])
    assert "leakguard manual reading-a-report" in " ".join(capsys.readouterr().out.split())


def test_table_breaks_a_long_word_and_loses_none(capsys):
    main(["manual", "proof"])  # its tables name files that are wider than their columns
    out = capsys.readouterr().out
    assert "first_sight_4" in out and "…" not in out


def test_python_api_shows_the_docstrings_of_the_public_face(capsys):
    main(["manual", "api"])
    out = " ".join(capsys.readouterr().out.split())
    assert "Watch a training loop for memory that grows" in out
    assert "LeakGuard.expect_freed" in out and "is gone when this generation ends" in out
    assert not re.search(r"LeakGuard\._\w", out)


def test_unknown_page_is_one_line_with_the_nearest(capsys):
    assert main(["manual", "first-leek"]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    assert "did you mean first-leak" in said.err
