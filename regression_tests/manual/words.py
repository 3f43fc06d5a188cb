"""The lint of words: ``python -m regression_tests.manual.words``, a part of ``make lint``.

It reads the words to avoid from the glossary of the manual and looks for them wherever a person
reads: README, CHANGELOG, manual, templates, and every text of the program.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from regression_tests.manual.pages import MANUAL
from regression_tests.manual.tables import ROOT

_GLOSSARY = MANUAL / "contributing/glossary.md"
_AVOIDED = re.compile(r"^- `(.+)`: (.+)$", re.M)
_CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.S | re.M)


@dataclass(frozen=True)
class Text:
    """A piece of text that a person reads, and the line it begins at."""

    file: Path
    line: int
    words: str


def avoided() -> dict[re.Pattern[str], str]:
    """Return what the glossary avoids, with what it writes instead."""
    words = _GLOSSARY.read_text("utf-8").partition("## Words to avoid")[2]
    return {re.compile(pattern, re.I): better for pattern, better in _AVOIDED.findall(words)}


def complaints(texts: Iterator[Text]) -> Iterator[str]:
    """Yield one line for each word that should not be there."""
    for text in texts:
        for pattern, better in avoided().items():
            for found in pattern.finditer(text.words):
                line = text.line + text.words.count("\n", 0, found.start())
                place = text.file.relative_to(ROOT).as_posix()
                yield f"{place}:{line}: {found[0]!r}; write: {better}"


def read_by_people() -> Iterator[Text]:
    """Yield every text that the lint reads."""
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(MANUAL.rglob("*.md"))]
    for page in pages:
        if page != _GLOSSARY:
            yield Text(page, 1, prose(page.read_text("utf-8")))
    for template in sorted((ROOT / "leakguard/render/templates").glob("*.j2")):
        yield Text(template, 1, template.read_text("utf-8"))
    for file in sorted((ROOT / "leakguard").rglob("*.py")):
        yield from spoken(file, file.read_text("utf-8"))


def prose(page: str) -> str:
    """Return a page without its code, line for line."""
    return _CODE.sub(lambda code: "\n" * code[0].count("\n"), page)


def spoken(file: Path, source: str) -> Iterator[Text]:
    """Yield the texts of a module that have a blank; `{}` stands for a value in one.

    Docstrings are left out: a command's is in the manual, as the page of the commands.
    """
    tree = ast.parse(source)
    silent = {id(part) for node in ast.walk(tree) for part in _silent(node)}
    for node in ast.walk(tree):
        words = "" if id(node) in silent else _words(node)
        if " " in words:
            yield Text(file, getattr(node, "lineno", 1), words)


def _silent(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is no text of its own: a docstring, and the pieces of a formatted text."""
    if isinstance(node, ast.JoinedStr):
        yield from node.values
    elif isinstance(node, ast.Expr):
        yield node.value


def _words(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_words(value) or "{}" for value in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def main() -> int:
    """Print the complaints; return 1 where there are any."""
    found = list(complaints(read_by_people()))
    print(*found, sep="\n", file=sys.stderr) if found else print("No word to avoid.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
