"""Searches for a test that fails on a finding, and tells what was tried."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from leakguard.fixing.files import is_same_file, sources
from leakguard.model.finding import Finding
from leakguard.model.run import Run
from leakguard.reproducing.calls import calls
from leakguard.reproducing.likeness import holder_name
from leakguard.reproducing.loops import searches
from leakguard.reproducing.program_file import ProgramFile
from leakguard.reproducing.sketch import Sketch
from leakguard.reproducing.stack_line import stack_lines
from leakguard.reproducing.tryout import Tryout

# Chosen: a leak that needs one of ten turns, or one of a hundred, shows in one of these.
_TIMES = (1, 10, 100)
# Ten times the turns take at most ten times as long, and most of a short run is the start.
_SLOWEST_SHARE = 0.3
# Chosen: half of the runs find a test that fails, and the other half make it small.
_SEARCH_SHARE = 0.5


@dataclass(frozen=True)
class LeakingProgram:
    """The program of a run.

    Attributes:
        texts: its files by path.
        files: the files that matter, parsed.
        script: the path of the file that was started; None if it is unknown.
        arguments: what it was started with.
    """

    texts: Mapping[str, str]
    files: Mapping[str, ProgramFile]
    script: str | None
    arguments: tuple[str, ...]


def program_of(root: Path, run: Run, finding: Finding, words: Sequence[str]) -> LeakingProgram:
    """Return the program below a folder.

    Args:
        root: the folder, or a copy of it.
        run: the run of the program.
        finding: the finding, which names files.
        words: the command that starts the program; empty takes that of the run.
    """
    texts = dict(sources(root))
    words = list(words) or _split(run.info.command or "")
    at = next((n for n, word in enumerate(words) if word.endswith(".py")), None)
    script = None if at is None else next((p for p in texts if is_same_file(p, words[at])), None)
    frames = (finding.created_at or "", *finding.created_stack)
    named = [frame.partition(":")[0] for frame in frames if frame]
    chosen = [p for p in texts if p == script or any(is_same_file(p, n) for n in named)]
    parsed = {path: ProgramFile.parsed(path, texts) for path in chosen}
    files = {path: file for path, file in parsed.items() if file is not None}
    return LeakingProgram(texts, files, script, () if at is None else tuple(words[at + 1 :]))


def sketches(program: LeakingProgram, finding: Finding, folder: str) -> Iterator[Sketch | str]:
    """Yield the tests that may fail on a finding, or why there is none.

    Calls come first, then loops, then calls of functions with such a loop.

    ``folder`` is where the test will be, below the program's folder.
    """
    found = stack_lines(finding, program.files)
    name = holder_name(finding.held_by)
    kept = frozenset({name} if name else ())
    each: Iterable[Sketch | str] = chain(
        calls(found, program.files, folder, kept, looping=False),
        *(
            search.sketches()
            for search in searches(found, program.files, program.script, folder, kept)
        ),
        calls(found, program.files, folder, kept, looping=True),
    )
    for sketch in each:
        if isinstance(sketch, str):
            yield sketch
        elif sketch.unknown:
            yield f"{sketch.what} needs {', '.join(sorted(sketch.unknown))}"
        else:
            yield _with_arguments(sketch, program.arguments).tidy()


def found_by(each: Iterable[Sketch | str], tryout: Tryout) -> tuple[Sketch | None, list[str]]:
    """Return the first test that fails on the finding, and what was tried before it, in words."""
    tried: list[str] = []
    for sketch in each:
        if isinstance(sketch, str):
            tried.append(f"{sketch}: needs data of the run")
            continue
        for times in _TIMES:
            if tryout.runs >= tryout.most * _SEARCH_SHARE:
                return None, tried
            candidate = replace(sketch, times=times)
            result = tryout.played(candidate)
            if result.outcome == "fails":
                return candidate, tried
            slow = result.seconds > tryout.limit * _SLOWEST_SHARE
            if result.outcome in ("broken", "endless") or slow:
                break
        tried.append(f"{sketch.what}: {result.said}")
    return None, tried


def _with_arguments(sketch: Sketch, arguments: Sequence[str]) -> Sketch:
    """Return a test that gives the program its arguments, before anything is imported."""
    if not arguments:
        return sketch
    given = ast.parse(f"import sys\nsys.argv[1:] = {list(arguments)!r}").body
    rest = [part for part in sketch.head if ast.unparse(part) != "import sys"]
    return replace(sketch, head=(*given, *rest))


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()
