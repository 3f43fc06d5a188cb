"""Runs a test in a copy of the program, and tells whether it fails on the finding."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from leakguard.errors import UsageError
from leakguard.fixing.command import end_all, environment_in
from leakguard.fixing.tree import Tree
from leakguard.model.finding import Finding
from leakguard.reproducing.likeness import is_same, line_of
from leakguard.reproducing.sketch import Sketch

Outcome = Literal["fails", "other", "passes", "broken", "endless"]

_OUTCOMES = "outcomes.json"  # what the plugin writes about the budgets of a run
_ERROR = re.compile(r"^E\s+(?P<text>[A-Za-z_][\w.]*(?:Error|Exception|Iteration|Exit|Interrupt).*)")
_NO_PYTEST = "No module named pytest"
_USAGE = 4  # pytest's exit status for arguments that it does not know


@dataclass(frozen=True)
class Tried:
    """What one run of a test showed.

    Attributes:
        outcome: ``fails`` on the finding; on an ``other`` finding or limit; ``passes``; ``broken``
            by an error; ``endless`` if it was stopped.
        said: the outcome in words.
        seconds: how long the run took.
        status: pytest's exit status; None if it was stopped.
    """

    outcome: Outcome
    said: str
    seconds: float
    status: int | None = None


@dataclass
class Tryout:
    """Plays tests of one finding, and counts them.

    Attributes:
        tree: the copy of the program.
        finding: the finding on which a test must fail.
        texts: the files of the program by path.
        file: where the test is, in the copy.
        name: the name of the test function.
        python: the interpreter of the program.
        limit: seconds after which a test is stopped.
        most: how many tests are run.
    """

    tree: Tree
    finding: Finding
    texts: Mapping[str, str]
    file: Path
    name: str
    python: str = sys.executable
    limit: float = 60.0
    most: int = 40
    runs: int = 0
    seconds: float = 0.0
    _known: dict[str, Tried] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        """Whether no further test may be run."""
        return self.runs >= self.most

    def fails(self, sketch: Sketch) -> bool:
        """Return whether a test fails on the finding; False if no further one may be run."""
        text = sketch.text(self.name, "")
        if text not in self._known and self.is_over:
            return False
        return self.played(sketch).outcome == "fails"

    def played(self, sketch: Sketch, *, again: bool = False) -> Tried:
        """Run a test; a text that was run before is only run if it is asked for ``again``.

        Raises:
            UsageError: pytest or its plugin of leakguard cannot run.
        """
        text = sketch.text(self.name, "")
        if again or text not in self._known:
            self._known[text] = self._once(text)
        return self._known[text]

    def _once(self, text: str) -> Tried:
        reports = self.tree.root.parent / "reports"
        shutil.rmtree(reports, ignore_errors=True)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(text, encoding="utf-8")
        words = [self.python, "-m", "pytest", self.file.name, "-q", "-p", "no:cacheprovider",
                 f"--leakguard-report={reports}"]  # fmt: skip
        began = time.monotonic()
        status, said = self._ended(words)
        took = time.monotonic() - began
        self.runs, self.seconds = self.runs + 1, self.seconds + took
        if status is None:
            return Tried("endless", f"it had no end within {self.limit:.0f} s", took)
        return self._judged(status, said, text, reports, took)

    def _ended(self, words: Sequence[str]) -> tuple[int | None, str]:
        """Return pytest's exit status, None if it was stopped, and what it printed."""
        printed = self.tree.root.parent / "printed"
        with printed.open("wb") as out:
            process = subprocess.Popen(
                words, cwd=self.file.parent, env=environment_in(self.tree), stdout=out,
                stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            try:
                status: int | None = process.wait(self.limit)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                end_all(process)
        return status, printed.read_text("utf-8", "replace")

    def _judged(self, status: int, said: str, text: str, reports: Path, took: float) -> Tried:
        if status == _USAGE or _NO_PYTEST in said:
            raise UsageError(f"pytest cannot run here: {_complaint(said, status)}")
        if status == 0:
            return Tried("passes", "it passes", took, status)
        findings = _broken(reports)
        if findings is None:
            return Tried("broken", _complaint(said, status), took, status)
        texts = {**self.texts, self.file.name: text}
        line = line_of(self.finding.created_at, self.texts)
        for told in findings:
            made = line_of(told.get("created_at"), texts)
            if is_same(self.finding, told, line, made):
                return Tried("fails", "it fails on the finding", took, status)
        first = next((f.get("held_by") or f.get("type") or f.get("kind") for f in findings), None)
        return Tried("other", f"it fails on something else: {first or 'a limit'}", took, status)


def _broken(reports: Path) -> list[dict[str, Any]] | None:
    """Return the leaks of the budgets that were broken; None if none was."""
    with suppress(OSError, ValueError, KeyError):
        told = json.loads((reports / _OUTCOMES).read_text("utf-8"))
        folders = [each["folder"] for each in told["budgets"] if each["broken"]]
        if not folders:
            return None
        found = []
        for folder in folders:
            report = json.loads((Path(folder) / "report.json").read_text("utf-8"))
            found += [each for each in report["findings"] if each["verdict"] == "leak"]
        return found
    return None


def _complaint(said: str, status: int) -> str:
    """Return the error of a test in one line."""
    lines = said.strip().splitlines() or [""]
    found = [match["text"] for line in lines if (match := _ERROR.match(line))]
    if status == _USAGE or not found:
        return lines[-1].strip()
    return found[-1].strip()
