"""One program of a set on one of its sides: how it is played, and what is true of it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regression_tests.benchmarks.leakbench.program import Planted, Truth

BENCHMARKS = Path(__file__).parents[1]
ROOT = BENCHMARKS.parents[1]

#: Stand in a command, or a value of the environment, for the run file that the guard has to write,
#: and for the same without ``.jsonl``.
OUT, STEM = "{out}", "{stem}"


class Unplayable(Exception):
    """A program cannot be played here; the text says why."""


def python(*words: str) -> list[str]:
    """Return a command for this interpreter."""
    return [sys.executable, *words]


def watched(*words: str) -> list[str]:
    """Return the command that plays a script, with its arguments, under ``leakguard run``."""
    return python("-m", "leakguard", "run", "-o", OUT, *words)


@dataclass(frozen=True, slots=True)
class Entry:
    """One side of a program of a set.

    Attributes:
        group: name of the set.
        name: the program and its side, unique within the set.
        file: the program's, as it stands in the frames that the guard records.
        truths: what leaks; nothing where the run is calm.
        command: makes the command to play it, in which ``{out}`` stands for the run file; raises
            :class:`Unplayable` where what it needs cannot be had.
        environment: variables on top of the player's own; ``{out}`` as in the command.
        needs: modules without which the program cannot be played here.
        files: texts by the names under which they lie in the program's working folder.
        written: patterns of the file or folder that the program writes in its working folder,
            where it does not let itself be told.
        recorded: whether it writes a run at all.
        ends: a part of the failure that the program is to end with; nothing where it ends well.
    """

    group: str
    name: str
    file: str
    truths: tuple[Truth, ...]
    command: Callable[[], Sequence[str]]
    environment: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    written: tuple[str, ...] = ()
    recorded: bool = True
    ends: str = ""

    @property
    def key(self) -> str:
        """The run's name in the corpus."""
        return f"{self.group}/{self.name}"

    @property
    def planted(self) -> Planted:
        """The truth, as the scoring of LeakBench takes it; the file as on any machine."""
        file = self.file if self.file.endswith("/") else Path(self.file).name
        return Planted(self.name, file, self.truths)

    def told(self, out: Path) -> tuple[list[str], dict[str, str]]:
        """Return the command and the environment that make it write the run file ``out``.

        Raises:
            Unplayable: a module that it needs is missing, or an environment of its own.
        """
        absent = [name for name in self.needs if importlib.util.find_spec(name) is None]
        if absent:
            raise Unplayable(f"needs {', '.join(absent)}, not installed here")
        words = [_filled(word, out) for word in self.command()]
        return words, {name: _filled(text, out) for name, text in self.environment.items()}


def _filled(text: str, out: Path) -> str:
    return text.replace(OUT, str(out)).replace(STEM, str(out.with_suffix("")))
