"""Plays a program to its end and says in one line why it failed; keeps the table of all."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


def failure_of(
    command: Sequence[str],
    patience: float,
    *,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> str | None:
    """Run a command; return why it failed, None if it ended well.

    Args:
        command: the program and its arguments. It gets nothing on standard input.
        patience: seconds that it may take.
        folder: where it runs; None for this folder.
        variables: of the environment, besides those of this process.
    """
    try:
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, **(variables or {})}, timeout=patience,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"no end within {patience:.0f} s"
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["nothing on stderr"])[-1]
        return f"exit status {done.returncode}: {last}"
    return None


def keep_table(folder: Path, text: str, module: str) -> None:
    """Write a table into a folder, with the command that made it: ``module`` and its arguments."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table.md").write_text(text, encoding="utf-8")
    words = ["python", "-m", module, *sys.argv[1:]]
    (folder / "COMMAND").write_text(shlex.join(words) + "\n", encoding="utf-8")
