"""``leakguard explain``: every word that a report may say has its explanation."""

from __future__ import annotations

import re
import signal
from typing import get_args

import pytest

from leakguard.cli import main
from leakguard.live.on_signal import SIGNALS
from leakguard.model.finding import Kind, Pattern, Verdict
from leakguard.render.explanations import explained, explanations

_KINDS = get_args(Kind)


@pytest.mark.parametrize("word", [*_KINDS, *get_args(Pattern), *get_args(Verdict)])
def test_every_word_of_a_finding_is_explained(word, capsys):
    assert main(["explain", word]) == 0
    assert capsys.readouterr().out.startswith(f"{word}, a ")


@pytest.mark.parametrize("kind", [kind for kind in _KINDS if kind != "memory"])
def test_every_kind_says_how_it_looks_how_to_fix_it_and_a_case_with_its_source(kind):
    text = explained(kind).text
    assert "How it looks in code:" in text
    assert "How to fix it:" in text
    assert re.search(r"A real case: .+\([\w.-]+/[\w.-]+#\d+\)\.$", text, re.DOTALL)


def test_names_and_other_names_are_each_said_once():
    names = [n.lower() for e in explanations() for n in (e.name, *e.aliases)]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize(
    ("said", "name"),
    [("Environment", "instances"), ("warm_up", "warm-up"), ("ROUND", "generation")],
)
def test_other_names_and_spellings_are_understood(said, name, capsys):
    assert main(["explain", said]) == 0
    assert capsys.readouterr().out.startswith(f"{name}, a ")


def test_without_a_word_all_are_listed(capsys):
    assert main(["explain"]) == 0
    out = capsys.readouterr().out
    assert all(entry.name in out for entry in explanations())


def test_unknown_word_is_one_line_with_the_nearest(capsys):
    assert main(["explain", "instanses"]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    assert "did you mean instances" in said.err


def test_code_is_shown_as_code_without_colour(capsys):
    main(["explain", "autograd"])
    out = capsys.readouterr().out
    assert "losses.append(loss)" in out and "```" not in out and "\x1b" not in out


def test_page_on_security_names_what_the_code_does(capsys):
    assert main(["explain", "security"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for number in SIGNALS:
        assert signal.Signals(number).name in said
    for word in (
        "0600",
        "0700",
        "max_file_size",
        "--redact",
        "no pickle",
        "Content-Security-Policy",
    ):
        assert word in said
