"""Sentences are made in one place, of values that are settled; the judgement before it has none."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import leakguard.analysis
from leakguard.analysis.sources.metrics import ROWS
from leakguard.analysis.words.fix import fix

ANALYSIS = Path(str(leakguard.analysis.__file__)).parent
# Where sentences may stand: ``words`` makes them, and ``knowledge`` has facts about libraries with
# their advice, as data. ``series`` says what is wrong with its arguments.
ALLOWED = ("words", "knowledge", "series")
_WORDS = 4


def sentences(code: str) -> Iterator[str]:
    """Yield the texts of four words or more in Python code; what documents it is none of them."""
    tree = ast.parse(code)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and id(node) not in documents and len(text.split()) >= _WORDS:
            yield text


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('said = f"{name} grows by {rate} in each of these"', [" in each of these"]),
        ('said = "the count grows by one"', ["the count grows by one"]),
        ('def f():\n    """Return what a caller reads."""\n    return "two words"', []),
    ],
)
def test_sentences_are_texts_of_four_words(code: str, found: list[str]) -> None:
    assert list(sentences(code)) == found


def test_judgement_holds_no_sentence() -> None:
    files = [f.relative_to(ANALYSIS) for f in sorted(ANALYSIS.rglob("*.py"))]
    judgement = [file for file in files if file.parts[0] not in ALLOWED]
    found = [(str(f), text) for f in judgement for text in sentences((ANALYSIS / f).read_text())]
    assert found == []
    assert len(judgement) > 50  # the files are found at all


@pytest.mark.parametrize("metric", [row.metric for row in ROWS if row.fix is None])
def test_number_of_the_process_has_an_advice_under_its_name(metric: str) -> None:
    assert fix(metric)


@pytest.mark.parametrize("wing", ["facts", "words"])
def test_words_and_facts_know_nothing_of_what_decides(wing: str) -> None:
    known = tuple(
        f"leakguard.analysis.{name}" for name in ("facts", "growth", "knowledge", "words")
    )
    trees = (ast.parse(file.read_text()) for file in (ANALYSIS / wing).glob("*.py"))
    imported = {
        str(node.module)
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
    }
    deciding = {name for name in imported if name.startswith("leakguard.analysis")}
    assert {name for name in deciding if not name.startswith(known)} == set()
