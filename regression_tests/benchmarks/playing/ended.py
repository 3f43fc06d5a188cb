"""Runs one program to its end: why it did not end well, and what it printed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended: ``failure`` is why not well, None if it did; and what it printed."""

    failure: str | None
    out: str = ""
    err: str = ""

    @property
    def last(self) -> str:
        """The last line on standard error."""
        return (self.err.strip().splitlines() or ["nothing on stderr"])[-1]


def ended(
    command: Sequence[str],
    patience: float,
    *,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> Ended:
    """Run a command to its end.

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
        return Ended(f"no end within {patience:.0f} s")
    well = Ended(None, done.stdout, done.stderr)
    if done.returncode:
        return Ended(f"exit status {done.returncode}: {well.last}", well.out, well.err)
    return well
