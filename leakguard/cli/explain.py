"""``leakguard explain``: the meaning of a word of a report, and what to do about it."""

from __future__ import annotations

from difflib import get_close_matches

import click

from leakguard.cli.output import laid_out, wants_color, write_document
from leakguard.errors import UsageError
from leakguard.render.explanations import Explanation, explained, explanations
from leakguard.render.text import columns

_GROUPS = {
    "kind": "What grows",
    "pattern": "How it grows",
    "verdict": "What is concluded",
    "word": "Other words of a report",
}


@click.command("explain")
@click.argument("word", nargs=-1)
@click.option("--color", type=click.Choice(("auto", "always", "never")), default="auto",
              show_default=True)  # fmt: skip
def explain(word: tuple[str, ...], color: str) -> int:
    """Explain a WORD of a report: what it means, how it looks in code, the fix, and a real case.

    WORD is a kind (instances, autograd ...), a pattern (growing, filling ...), a verdict or another
    word of a report. Without a WORD, all of them are listed.
    """
    if not word:
        write_document(_list(), None)
        return 0
    write_document(_laid_out(_entry(" ".join(word)), wants_color(color, None)), None)
    return 0


def _entry(word: str) -> Explanation:
    entry = explained(word)
    if entry is not None:
        return entry
    names = [name for e in explanations() for name in (e.name, *e.aliases)]
    near = get_close_matches(word, names, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "'leakguard explain' lists the words"
    raise UsageError(f"nothing is known about {word!r}; {hint}")


def _list() -> str:
    lines = []
    for group, title in _GROUPS.items():
        names = ", ".join(entry.name for entry in explanations() if entry.group == group)
        lines += click.wrap_text(names, columns(), f"{title}: ", "  ").splitlines()
    return "\n".join([*lines, "", "leakguard explain WORD shows one", ""])


def _laid_out(entry: Explanation, color: bool) -> str:
    also = f" (also: {', '.join(entry.aliases)})" if entry.aliases else ""
    title = f"{entry.name}, a {entry.group} of a report{also}"
    return laid_out(entry.text, color=color, title=title)
