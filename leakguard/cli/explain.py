"""``leakguard explain``: the meaning of a word in a report, or the known leaks of a library."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import NoReturn

import click

from leakguard.analysis.knowledge.known_leaks import known_leaks
from leakguard.cli.output import laid_out, wants_color, write_document
from leakguard.errors import UsageError
from leakguard.model.known_leak import KnownLeak
from leakguard.render.audit import explanation
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
    word of a report; or a library, or the name that leakguard audit gives a leak, for what is
    known of it. Without a WORD, all of them are listed.
    """
    if not word:
        write_document(_list(), None)
        return 0
    said, wanted = wants_color(color, None), " ".join(word)
    entry, leaks = explained(wanted), _known(wanted)
    if entry is None and leaks:
        write_document(_of_library(leaks, said), None)
        return 0
    write_document(_laid_out(entry or _missing(wanted), said), None)
    return 0


def _known(word: str) -> tuple[KnownLeak, ...]:
    """Return the known leaks of the library ``word``, or the known leak whose id is ``word``."""
    wanted = word.lower().replace("_", "-")
    return tuple(leak for leak in known_leaks() if wanted in (leak.library, leak.id))


def _of_library(leaks: Sequence[KnownLeak], color: bool) -> str:
    parts = [f"## {leak.id}\n\n{explanation(leak)}" for leak in leaks]
    count = "1 known leak" if len(leaks) == 1 else f"{len(leaks)} known leaks"
    return laid_out("\n\n".join(parts), color=color, title=f"{leaks[0].library}: {count}")


def _missing(word: str) -> NoReturn:
    names = [name for e in explanations() for name in (e.name, *e.aliases)]
    names += [name for leak in known_leaks() for name in (leak.library, leak.id)]
    near = get_close_matches(word, dict.fromkeys(names), n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "'leakguard explain' lists the words"
    raise UsageError(f"no explanation of {word!r}; {hint}")


def _list() -> str:
    lines = []
    for group, title in _GROUPS.items():
        names = ", ".join(entry.name for entry in explanations() if entry.group == group)
        lines += click.wrap_text(names, columns(), f"{title}: ", "  ").splitlines()
    libraries = ", ".join(dict.fromkeys(leak.library for leak in known_leaks()))
    known = click.wrap_text(libraries, columns(), "Libraries with known leaks: ", "  ")
    return "\n".join([*lines, *known.splitlines(), "", "leakguard explain WORD shows one", ""])


def _laid_out(entry: Explanation, color: bool) -> str:
    also = f" (also: {', '.join(entry.aliases)})" if entry.aliases else ""
    title = f"{entry.name}, a {entry.group} of a report{also}"
    return laid_out(entry.text, color=color, title=title)
