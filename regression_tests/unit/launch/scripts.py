"""Scripts that nobody prepared, run by the interpreter alone and by ``leakguard run``."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from leakguard import diagnose, load
from leakguard.model import Report, Run


@dataclass
class Ended:
    """What is left of a process."""

    out: bytes
    err: str
    status: int
    file: Path

    @property
    def run(self) -> Run:
        return load(self.file)

    @property
    def report(self) -> Report:
        return diagnose(self.run)


@dataclass
class Script:
    """A folder with a script; ``plain`` runs it without leakguard, ``watched`` with it.

    ``typed`` is what its standard input gives.
    """

    folder: Path
    name: str = "script.py"
    typed: bytes = b""

    def write(self, source: str, name: str | None = None) -> Script:
        path = self.folder / (name or self.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(source))
        return self

    def plain(self, *arguments: str) -> Ended:
        return self._ended([sys.executable, *(arguments or [self.name])])

    def watched(self, *arguments: str) -> Ended:
        command = [sys.executable, "-m", "leakguard", "run", "-o", "run.jsonl"]
        return self._ended([*command, *(arguments or [self.name])])

    def _ended(self, command: list[str]) -> Ended:
        environment = {**os.environ, "COLUMNS": "200", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            command,
            cwd=self.folder,
            capture_output=True,
            check=False,
            env=environment,
            input=self.typed,
        )
        err = done.stderr.decode()
        return Ended(done.stdout, err, done.returncode, self.folder / "run.jsonl")
