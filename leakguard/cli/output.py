"""Writes the output of commands: to standard output or a file, and messages to standard error."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from leakguard.errors import UsageError
from leakguard.render.text import clean, columns, wrapped


def write_document(document: str | bytes, path: Path | None) -> None:
    """Write a document to ``path``, or to standard output if ``path`` is None.

    Raises:
        UsageError: the path cannot be written.
        BrokenPipeError: the reader of standard output has closed it.
    """
    data = document if isinstance(document, bytes) else document.encode("utf-8", "replace")
    if path is None:
        _print(document)
        return
    try:
        path.write_bytes(data)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {_why_unwritable(error, path)}") from error


def laid_out(markdown: str, *, color: bool, title: str = "") -> str:
    """Return Markdown rendered for a terminal, below an optional title."""
    import io

    from rich.console import Console

    from leakguard.cli.folded_tables import Markdown

    page = io.StringIO()
    console = Console(file=page, width=columns(), force_terminal=color, no_color=not color,
                      color_system="standard" if color else None, _environ={})  # fmt: skip
    if title:
        console.print(title, style="bold", markup=False)
        console.print()
    console.print(Markdown(markdown, code_theme="ansi_dark"))
    return "\n".join(line.rstrip() for line in page.getvalue().split("\n"))


def append_summary(document: str) -> None:
    """Append a document to the summary of the GitHub Actions step; do nothing outside of Actions.

    Raises:
        UsageError: the summary file that the environment names cannot be written.
    """
    named = os.environ.get("GITHUB_STEP_SUMMARY")
    if not named:
        return
    try:
        with Path(named).open("a", encoding="utf-8") as page:
            page.write(document)
    except OSError as error:
        raise UsageError(f"cannot write the step summary {named}: {error.strerror}") from error


def _print(document: str | bytes) -> None:
    if isinstance(document, bytes):
        sys.stdout.buffer.write(document)
        sys.stdout.buffer.flush()
        return
    encoding = sys.stdout.encoding or "utf-8"
    # A terminal that cannot show an arrow gets a question mark, not a traceback.
    sys.stdout.write(document.encode(encoding, "replace").decode(encoding))
    sys.stdout.flush()


def _why_unwritable(error: OSError, path: Path) -> str:
    if isinstance(error, IsADirectoryError):
        return "it is a folder; give a file name"
    if isinstance(error, FileNotFoundError):
        if path.parent.is_dir():
            return f"no file can be made in {path.parent}"
        return f"the folder {path.parent} does not exist"
    return error.strerror or type(error).__name__


def complain(message: str) -> None:
    """Write one line to standard error; for a terminal, wrap it between words."""
    with suppress(OSError, ValueError):
        text = f"leakguard: {clean(message)}"
        line = "\n".join(wrapped(text, columns()) if sys.stderr.isatty() else [text]) + "\n"
        encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
        sys.stderr.write(line.encode(encoding, "replace").decode(encoding))
        sys.stderr.flush()


def close_quietly(stream: TextIO) -> None:
    """Redirect a stream without a reader to /dev/null, so that no error is printed at exit."""
    with suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())


def wants_color(choice: str, path: Path | None) -> bool:
    """Return whether to use colour; ``auto`` uses it in a terminal, unless NO_COLOR is set."""
    if choice != "auto":
        return choice == "always"
    return path is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
