"""``leakguard manual``: the pages of the manual in a terminal, without a network."""

from __future__ import annotations

import inspect
import os
import pydoc
import re
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from importlib.resources import files
from typing import TYPE_CHECKING

import click

from leakguard.cli.output import laid_out, wants_color, write_document
from leakguard.errors import UsageError

if TYPE_CHECKING:
    from importlib.abc import Traversable

_SECTIONS = {
    "tutorial": "Tutorial",
    "how-to": "How-to",
    "reference": "Reference",
    "explanation": "Explanation",
    "contributing": "Contributing",
}
_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")
_DOCUMENTED = re.compile(r"^::: ([\w.]+)\n(?:    .*\n)*", re.M)  # a directive of mkdocstrings


@click.command("manual")
@click.argument("page", required=False, metavar="[PAGE]")
@click.option("--color", type=click.Choice(("auto", "always", "never")), default="auto",
              show_default=True)  # fmt: skip
def manual(page: str | None, color: str) -> int:
    """Show a PAGE of the manual; without one, list all pages.

    PAGE is a name of the list, such as first-leak.
    """
    if page is None:
        write_document(_contents(), None)
        return 0
    colored = wants_color(color, None)
    text = laid_out(_readable(_page(page).read_text("utf-8")), color=colored)
    if sys.stdout.isatty():
        os.environ.setdefault("LESS", "-FRX")  # as git does: colours, and no pager for a short page
        click.echo_via_pager(text, color=colored)
    else:
        write_document(text, None)
    return 0


def pages() -> Iterator[tuple[str, str, Traversable]]:
    """Yield the section, the name and the file of each page."""
    for section in _SECTIONS:
        folder = files("leakguard").joinpath(f"manual/{section}")
        for file in sorted(folder.iterdir(), key=lambda file: file.name):
            if file.name.endswith(".md"):
                yield section, file.name.removesuffix(".md"), file


def _page(name: str) -> Traversable:
    wanted = name.strip().lower().removesuffix(".md").rpartition("/")[2].replace(" ", "-")
    known = {name: file for _, name, file in pages()}
    if wanted in known:
        return known[wanted]
    near = get_close_matches(wanted, known, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "'leakguard manual' lists the pages"
    raise UsageError(f"the manual has no page {name!r}; {hint}")


def _contents() -> str:
    lines = []
    for section, heading in _SECTIONS.items():
        lines.append(heading)
        own = [(name, file) for of, name, file in pages() if of == section]
        lines += [f"  {name:20} {_title(file)}" for name, file in own]
    return "\n".join([*lines, "", "leakguard manual PAGE shows one", ""])


def _title(file: Traversable) -> str:
    return file.read_text("utf-8").partition("\n")[0].removeprefix("# ")


def _readable(page: str) -> str:
    """Return a page for a terminal: links and directives, which only the site can use, replaced."""
    return _LINK.sub(_reference, _DOCUMENTED.sub(_documentation, page))


def _reference(link: re.Match[str]) -> str:
    text, target = link.groups()
    place = re.sub(r"^(\.\./)+|#.*$", "", target)
    if place.startswith("reports/"):
        return f"{text} (`{place}`)"
    if place.endswith(".md"):
        return f"{text} (`leakguard manual {place.rpartition('/')[2].removesuffix('.md')}`)"
    return link[0]


def _documentation(directive: re.Match[str]) -> str:
    """Return the docstrings of the object that a directive names, and of its public methods."""
    documented = pydoc.locate(directive[1])
    name = directive[1].rpartition(".")[2]
    own = vars(documented) if inspect.isclass(documented) else {}
    methods = [(f"{name}.{of}", value) for of, value in own.items() if _is_public(of, value)]
    parts = [(name, documented), *methods]
    return "\n".join(f"### {of}\n\n```text\n{inspect.getdoc(part)}\n```\n" for of, part in parts)


def _is_public(name: str, value: object) -> bool:
    documented = isinstance(value, property) or inspect.isfunction(value)
    return documented and (name == "__init__" or not name.startswith("_"))
