"""The templates of this package, and how text from outside is escaped in them."""

from __future__ import annotations

import re
from functools import lru_cache

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import escape

from leakguard.render.text import clean

# Characters that could start emphasis, code, a link, a table cell, a heading or a tag; `@` and `#`,
# because some hosts turn them into notifications and references. An underscore inside a word starts
# nothing.
_MARKDOWN = re.compile(r"([\\`*{}\[\]|~#]|(?<![^\W_])_|_(?![^\W_]))")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the shared template environment; templates of HTML and SVG escape their values."""
    env = Environment(
        loader=PackageLoader("leakguard.render"),
        autoescape=select_autoescape(["html.j2", "svg.j2"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    env.filters["md"] = markdown_text
    env.filters["fenced"] = fenced
    env.filters["preformatted"] = preformatted
    return env


def markdown_text(text: object) -> str:
    """Return ``text`` escaped so that Markdown, in a paragraph or table cell, shows it as it is."""
    safe = re.sub("[&<>@]", lambda m: _ENTITIES[m[0]], clean(text))
    return _MARKDOWN.sub(r"\\\1", safe)


def preformatted(block: str) -> str:
    """Return a block for use inside HTML, where some Markdown dialects do not support fences."""
    return f"<pre>\n{escape(block)}\n</pre>"


def fenced(block: str) -> str:
    """Return a code block whose fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall("`+", block)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{block}\n{fence}"
