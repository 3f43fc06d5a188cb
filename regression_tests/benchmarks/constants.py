"""What verdicts owe to each constant of ``leakguard.analysis``: each is halved and doubled.

All runs that are at hand are judged again with one constant changed, and compared with what is said
of them now. A constant that changes nothing either way is not thereby right: these runs do not
decide it.

    python -m regression_tests.benchmarks.constants RUNS... [-o TABLE]
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import multiprocessing
import pkgutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import NamedTuple

import leakguard
import leakguard.analysis
from leakguard.errors import LeakguardError
from leakguard.model import Run

Said = tuple[object, ...]
FACTORS = (0.5, 2.0)
# Times as long as with the values of now, and seconds of processor at the least, that all
# judgements may take with another one: some loops do not end with a value that they were not made
# for.
PATIENCE, LEAST_SECONDS = 10.0, 5.0


class Constant(NamedTuple):
    """One number that a module of the analysis names."""

    module: str
    name: str
    value: float

    def times(self, factor: float) -> float:
        """Return the value to try; a count stays a whole number of at least one."""
        if isinstance(self.value, int):
            return max(1, round(self.value * factor))
        return self.value * factor


def constants() -> Iterator[Constant]:
    """Yield every number that stands under a name of its own in a module of the analysis."""
    package = leakguard.analysis
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        module = importlib.import_module(found.name)
        for name in _assigned(Path(str(module.__file__)).read_text(encoding="utf-8")):
            value = getattr(module, name)
            if isinstance(value, int | float) and not isinstance(value, bool):
                yield Constant(found.name, name, value)


def _assigned(source: str) -> Iterator[str]:
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign):
            names = (n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name))
            yield from (name for name in names if name.isupper())


class _Changed(SourceFileLoader):
    """Loads a module with another value for one of its constants."""

    def __init__(self, spec: ModuleSpec, constant: Constant, value: float) -> None:
        super().__init__(spec.name, str(spec.origin))
        self._constant, self._value = constant, value

    def get_code(self, fullname: str) -> CodeType:
        tree = ast.parse(self.get_data(self.path))
        for place, node in enumerate(tree.body):
            if isinstance(node, ast.Assign) and self._constant.name in _assigned(ast.unparse(node)):
                after = ast.parse(f"{self._constant.name} = {self._value!r}").body
                tree.body[place + 1 : place + 1] = after
                break
        return compile(ast.fix_missing_locations(tree), self.path, "exec")


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, constant: Constant, value: float) -> None:
        self._constant, self._value = constant, value

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self._constant.module:
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None:
            spec.loader = _Changed(spec, self._constant, self._value)
        return spec


_RUNS: list[Run] = []  # read once; the processes that are forked to judge them share it


def judged_now() -> tuple[list[Said], float]:
    """Return what is said of each run, and the seconds of processor that it took."""
    begun = time.process_time()
    said = [_said(leakguard.diagnose, run) for run in _RUNS]
    return said, time.process_time() - begun


def judged_with(constant: Constant, value: float, seconds: float) -> list[Said]:
    """Return what is said of each run with one constant changed, in a process of its own."""
    for name in [n for n in sys.modules if n.startswith("leakguard.analysis")]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Finder(constant, value))
    signal.signal(signal.SIGPROF, _give_up)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        diagnose = importlib.import_module("leakguard.analysis.diagnosis").diagnose
        return [_said(diagnose, run) for run in _RUNS]
    except TimeoutError:
        return [("fails", "does not end") for _ in _RUNS]


def _give_up(signum: int, frame: FrameType | None) -> None:
    raise TimeoutError


def _said(diagnose: object, run: Run) -> Said:
    assert callable(diagnose)
    try:
        report = diagnose(run)
    except (ArithmeticError, ValueError, IndexError) as error:  # the formulas do not take the value
        return ("fails", repr(error))
    found = ((f.verdict, f.kind, f.type, f.held_by, f.phase, f.started_at) for f in report.findings)
    return (report.verdict, *found)


def table(rows: Sequence[tuple[Constant, list[list[Said]]]], now: list[Said]) -> Iterator[str]:
    """Yield the table, the constants that decide most first."""
    yield f"{len(now)} runs, each constant of `leakguard.analysis` changed alone. In a cell: runs"
    yield "whose verdict becomes another / runs of which a finding does, by its verdict, kind,"
    yield "type, holder, phase or start.\n"
    yield "| constant | value | halved | doubled |"
    yield "| --- | --- | --- | --- |"
    counted = [(c, [_differ(now, said) for said in tried]) for c, tried in rows]
    counted.sort(key=lambda row: [-sum(n) for n in zip(*row[1], strict=True)])
    for constant, cells in counted:
        name = f"{constant.module.removeprefix('leakguard.analysis.')}.{constant.name}"
        yield (
            f"| {name} | {constant.value:g} | " + " | ".join(f"{v} / {a}" for v, a in cells) + " |"
        )


def _differ(now: list[Said], then: list[Said]) -> tuple[int, int]:
    pairs = list(zip(now, then, strict=True))
    return sum(a[0] != b[0] for a, b in pairs), sum(a != b for a, b in pairs)


def _read(paths: Sequence[Path]) -> Iterator[Run]:
    for path in paths:
        files = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
        for file in files:
            try:
                yield leakguard.load(file)
            except LeakguardError as error:
                print(f"left out: {error}", file=sys.stderr)


def main() -> None:
    """Judge the runs with every constant halved and doubled, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("runs", nargs="+", type=Path, help="run files, or folders of them")
    parser.add_argument("-o", "--output", type=Path, help="file for the table (standard output)")
    arguments = parser.parse_args()
    _RUNS.extend(_read(arguments.runs))
    named = list(constants())
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        now, took = pool.apply(judged_now)
        limit = max(PATIENCE * took, LEAST_SECONDS)
        changes = [(c, c.times(factor), limit) for c in named for factor in FACTORS]
        said = pool.starmap(judged_with, changes, chunksize=1)
    rows = [(c, said[i * len(FACTORS) : (i + 1) * len(FACTORS)]) for i, c in enumerate(named)]
    text = "\n".join(table(rows, now)) + "\n"
    if arguments.output is None:
        print(text, end="")
    else:
        arguments.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
