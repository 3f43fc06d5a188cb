"""One run of the corpus: how it is played, and what is true of it."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regression_tests.benchmarks.leakbench.program import Planted, Truth

ROOT = Path(__file__).parents[2]

#: Stand in a command, or a value of the environment, for the run file that the guard has to write,
#: and for the same without ``.jsonl``.
OUT, STEM = "{out}", "{stem}"

#: One run of so many is set aside: nobody looks at it while a rule is written.
ASIDE = 5


class Unplayable(Exception):
    """A program cannot be played here; the text says why."""


def python(*words: str) -> list[str]:
    """Return a command for this interpreter."""
    return [sys.executable, *words]


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
        environment: variables on top of the recorder's own; ``{out}`` as in the command.
        needs: modules without which the program cannot be played here.
        files: texts by the names under which they lie in the program's working folder.
        written: patterns of the file or folder that the program writes in its working folder,
            where it does not let itself be told.
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

    @property
    def key(self) -> str:
        """The run's name in the corpus."""
        return f"{self.group}/{self.name}"

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


def is_aside(key: str) -> bool:
    """Return whether the run of that name is set aside, by a rule that nobody can bend."""
    return int(hashlib.sha256(key.encode()).hexdigest(), 16) % ASIDE == 0


def planted(entry: Entry) -> Planted:
    """Return an entry as the scoring of LeakBench knows it."""
    return Planted(entry.name, entry.file, entry.truths)
