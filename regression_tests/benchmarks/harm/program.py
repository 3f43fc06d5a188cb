"""A program of the corpus: its docstring, and what the names in capitals at its top declare."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).with_name("programs")
#: How an interpreter can be given a program; see ``command.py``.
FORMS = ("file", "folder", "zip", "module", "text", "input")


@dataclass(frozen=True, slots=True)
class Limit:
    """What a number may come to when watched: ``ratio`` times the unwatched one, and ``slack``."""

    ratio: float
    slack: float

    def allows(self, unwatched: float, watched: float) -> bool:
        """Return whether the watched number is no harm."""
        return watched <= unwatched * self.ratio + self.slack


#: What holds where a program declares nothing else. The price in seconds is the README's for a loop
#: of at most twelve generations; a tree has the copy of the process in it, whose pages are shared.
LIMITS = {
    "peak_mb": Limit(1.5, 100),
    "tree_mb": Limit(2.0, 150),
    "cpu_s": Limit(1.1, 7.6),
    "wall_s": Limit(1.1, 7.6),
    "longest_stop_ms": Limit(1.5, 100),
}


@dataclass(frozen=True, slots=True)
class Program:
    """One program with the arguments and the form in which it is played.

    Declared at its top, each optional::

        HEARTBEAT = True                  # a second thread measures how long it stands still
        NEEDS = ["torch"]                 # modules without which it is not played
        PYTHONS = "<3.13"                 # versions of CPython, as packages write them
        ARGUMENTS = ["1000", "100000"]    # each is a case of its own: name[1000]
        FORMS = ["file", "zip"]           # each is a case of its own, too
        HEAVY = True                      # or a list of those ARGUMENTS that are
        LIMITS = {"peak_mb": (1.2, 20)}   # ratio and slack, of any measured number
        VOLATILE = r"0x[0-9a-f]+"         # what may differ in the output
        OPTIONS = ["--every", "2"]        # of `leakguard run`
        HOW = ["api"]                     # where `leakguard run` cannot show it
    """

    path: Path
    text: str
    heartbeat: bool
    needs: tuple[str, ...]
    pythons: str
    argument: str | None
    form: str
    heavy: bool
    limits: Mapping[str, Limit]
    volatile: str
    how: tuple[str, ...]
    options: tuple[str, ...]

    @property
    def kind(self) -> str:
        """The first line of its docstring: the kind of harm, and what must hold."""
        return self.text.partition("\n")[0]

    @property
    def name(self) -> str:
        """The file's name, with the argument or form that makes it a case."""
        cases = [self.argument, None if self.form == "file" else self.form]
        told = ",".join(case for case in cases if case)
        return f"{self.path.stem}[{told}]" if told else self.path.stem


def programs(names: list[str] | None = None, corpus: Path = CORPUS) -> list[Program]:
    """Return the cases of the corpus, all or those that ``names`` begin: files or single cases.

    Raises:
        ValueError: a name begins none.
    """
    known = [case for path in sorted(corpus.glob("*.py")) for case in cases_of(path)]
    if not names:
        return known
    for name in names:
        if not any(case.name.startswith(name) for case in known):
            raise ValueError(f"no program of {corpus.name}/ begins with {name}")
    return [case for case in known if any(case.name.startswith(name) for name in names)]


def cases_of(path: Path) -> Iterator[Program]:
    """Yield a program in each form and with each argument that it declares.

    Raises:
        ValueError: it has no docstring.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    told = ast.get_docstring(tree)
    if not told:
        raise ValueError(f"{path.name} has no docstring: say the kind of harm and what must hold")
    declared = dict(_declared(tree))
    heavy = declared.get("HEAVY", False)
    limits = {name: Limit(*pair) for name, pair in declared.get("LIMITS", {}).items()}
    for argument in declared.get("ARGUMENTS", [None]):
        for form in declared.get("FORMS", ["file"]):
            yield Program(
                path=path,
                text=told,
                heartbeat=declared.get("HEARTBEAT", False),
                needs=tuple(declared.get("NEEDS", ())),
                pythons=declared.get("PYTHONS", ""),
                argument=argument,
                form=form,
                heavy=heavy if isinstance(heavy, bool) else argument in heavy,
                limits=LIMITS | limits,
                volatile=declared.get("VOLATILE", ""),
                options=tuple(declared.get("OPTIONS", ())),
                how=tuple(declared.get("HOW", ("api", "run"))),
            )


_NAMES = {"HEARTBEAT", "NEEDS", "PYTHONS", "ARGUMENTS", "FORMS", "HEAVY", "LIMITS", "VOLATILE"}


def _declared(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    for line in tree.body:
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            name = line.targets[0].id
            if name in _NAMES | {"HOW", "OPTIONS"}:
                yield name, ast.literal_eval(line.value)
