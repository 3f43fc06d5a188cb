"""``leakguard reproduce``: the smallest pytest file that fails on a finding."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from leakguard.analysis.words.headline import headline
from leakguard.cli.output import complain, write_document
from leakguard.cli.report import RunPath, chosen_finding, read_report
from leakguard.fixing.tree import Tree, copied
from leakguard.model.finding import Finding
from leakguard.model.run import Run
from leakguard.render.text import clean
from leakguard.reproducing.likeness import holder_name
from leakguard.reproducing.reproduction import LeakingProgram, found_by, program_of, sketches
from leakguard.reproducing.shrinking import shrunk
from leakguard.reproducing.sketch import Sketch
from leakguard.reproducing.tryout import Tryout

_FILE = "test_leak.py"  # the name in the copy, where the test goes to standard output


@click.command("reproduce", context_settings={"ignore_unknown_options": True})
@click.argument("run", metavar="RUN", type=RunPath())
@click.argument("command", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--finding", "number", metavar="N", type=click.IntRange(min=1), default=1,
              show_default=True, help="Which finding of RUN; the first is the worst.")  # fmt: skip
@click.option("--limit", metavar="SECONDS", type=click.FloatRange(min=1), default=60.0,
              show_default=True, help="Stop each test after so long.")  # fmt: skip
@click.option("--tries", metavar="N", type=click.IntRange(min=2), default=40, show_default=True,
              help="Run at most so many tests.")  # fmt: skip
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path),
              help="Write the test to FILE instead of standard output.")  # fmt: skip
def reproduce(
    run: Path | str, command: tuple[str, ...], number: int, limit: float, tries: int,
    output: Path | None,
) -> int:  # fmt: skip
    """Write the smallest pytest file that fails on a finding of RUN.

    The test calls a function of the program, or repeats the body of a loop after its set-up, below
    the mark memory_budget. Each attempt runs in a copy of your folder, so your files stay as they
    are. A test counts only if it fails on this finding; then it is made smaller as long as it
    fails. COMMAND starts the program; RUN knows it in most cases. Exit status 1 if no test fails on
    the finding, with what was tried on standard error. Needs pytest.
    """
    report = read_report(run)
    finding = chosen_finding(report, number, run)
    with copied(Path.cwd()) as tree:
        program = program_of(tree.folder, report.run, finding, command)
        tryout = _tryout(tree, program, finding, command, output)
        tryout.limit, tryout.most = limit, tries
        sketch, tried = _found(program, tryout, report.run)
        if sketch is None:
            complain(f"no test fails on this finding. {_why(finding, program, tried)}")
            return 1
        before = len(_written(sketch, tryout, finding, run, 0).splitlines())
        complain(f"{sketch.what} fails on it; making the test of {before} lines smaller")
        smallest = shrunk(sketch, tryout)
    text = _written(smallest, tryout, finding, run, before)
    write_document(text, output)
    lines = len(text.splitlines())
    complain(f"{lines} lines, {before} before; {tryout.runs} tests ran for {tryout.seconds:.0f} s")
    return 0


def _tryout(
    tree: Tree,
    program: LeakingProgram,
    finding: Finding,
    command: tuple[str, ...],
    output: Path | None,
) -> Tryout:
    """Return tryouts whose file is where the test will be, as seen from the program's folder."""
    place = _FILE if output is None else output
    below = _below(Path.cwd(), Path(place)) or Path(Path(place).name)
    first = Path(command[0]).name if command else ""
    python = tree.moved(command[0]) if first.startswith("python") else sys.executable
    return Tryout(tree, finding, program.texts, tree.folder / below, _name(finding), python)


def _found(program: LeakingProgram, tryout: Tryout, run: Run) -> tuple[Sketch | None, list[str]]:
    folder = tryout.file.parent.relative_to(tryout.tree.folder).as_posix()
    return found_by(sketches(program, tryout.finding, folder), tryout)


def _below(folder: Path, file: Path) -> Path | None:
    """Return a file as seen from a folder; None if it is not below."""
    try:
        return file.resolve().relative_to(folder.resolve())
    except ValueError:
        return None


def _name(finding: Finding) -> str:
    """Return the name of the test function."""
    grows = holder_name(finding.held_by) or (finding.type or finding.kind).rpartition(".")[2]
    return f"test_{re.sub(r'[^a-z0-9]+', '_', grows.lower()).strip('_')}_does_not_grow"


def _written(sketch: Sketch, tryout: Tryout, finding: Finding, run: Path | str, before: int) -> str:
    shrinking = f", {before} lines before {tryout.runs} runs made it smaller" if before else ""
    lines = (
        f"Fails on this finding of {Path(run).name}: {headline(finding)}",
        f"Written by leakguard reproduce: {sketch.what}{shrinking}.",
    )
    return sketch.text(tryout.name, "\n".join(f"# {clean(' '.join(x.split()))}" for x in lines))


def _why(finding: Finding, program: LeakingProgram, tried: list[str]) -> str:
    """Return what was tried, or why nothing could be."""
    if tried:
        return f"Tried: {'; '.join(tried)}"
    if finding.library:
        return f"{finding.library} keeps it, which is no source of the program"
    if not program.files:
        return "Neither its line nor the script is in this folder; name the script after --"
    return "No function without arguments and no loop of the program leads to it"
