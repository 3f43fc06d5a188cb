"""``leakguard mcp``: lets an assistant ask about recorded runs (Model Context Protocol).

Whatever path the assistant asks for, the server reads only files below the folders for which it
was started.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from leakguard import __version__
from leakguard.cli.budget_file import read_budget
from leakguard.cli.report import read_report
from leakguard.errors import LeakguardError, UsageError, install
from leakguard.live.call import ask
from leakguard.model import Finding, Report
from leakguard.render import Layout

Json = dict[str, Any]
T = TypeVar("T")

_INSTRUCTIONS = (
    "Ask for list_runs first, then read_report of a run: it says whether memory leaks, in which "
    "phase, since when, who holds it, which line makes it and what to change. read_finding has the "
    "evidence and the source of one finding. Numbers are bytes, or objects, per generation of the "
    "loop; null means unknown."
)
_SUFFIXES = (".jsonl", ".log", ".txt", ".out")
_MOST_RUNS = 500
_LISTED_ROWS = 12  # rows of the trend; a whole trend may be too long for an assistant
_WAIT = 60.0  # seconds for a live process to answer


@click.command("mcp")
@click.argument("folders", nargs=-1, metavar="[FOLDER]...", type=click.Path(path_type=Path))
def mcp(folders: tuple[Path, ...]) -> int:
    """Serve the runs below each FOLDER (default: the working folder) to an assistant.

    The server speaks the Model Context Protocol on standard input and output. It reads no file
    outside the folders.
    """
    server(folders or (Path.cwd(),)).run()
    return 0


class Folders:
    """The folders from which the server may read."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Set up access.

        Raises:
            UsageError: a path in ``folders`` is no folder.
        """
        self.folders = [folder.resolve() for folder in folders]
        for folder, given in zip(self.folders, folders, strict=True):
            if not folder.is_dir():
                raise UsageError(f"{given} is not a folder; give the folder with the runs")

    def inside(self, path: str) -> Path:
        """Return the absolute path with symbolic links resolved.

        Raises:
            UsageError: the path lies in none of the folders, or does not exist.
        """
        for folder in self.folders:
            with suppress(OSError, ValueError):  # a too long name, or one with a null character
                found = (folder / path).resolve()
                if self._kept(found) and found.exists():
                    return found
        names = ", ".join(map(str, self.folders))
        raise UsageError(f"{path} is not in {names}, the folders this server was started for")

    def runs(self) -> Iterator[Path]:
        """Yield the files that may hold runs, the newest first."""
        found = [
            path
            for folder in self.folders
            for path in folder.rglob("*")
            if path.suffix in _SUFFIXES and path.is_file() and self._kept(path.resolve())
        ]
        return iter(sorted(found, key=lambda path: path.stat().st_mtime, reverse=True))

    def _kept(self, path: Path) -> bool:
        return any(path.is_relative_to(folder) for folder in self.folders)


class Tools:
    """The tools that an assistant may call.

    Each returns plain values, or raises an error with a one-line message. The docstrings of the
    tools are sent to the assistant.
    """

    def __init__(self, folders: Folders) -> None:
        """Set up the tools for the runs in ``folders``."""
        self._folders = folders

    def list_runs(self) -> list[Json]:
        """List the recorded runs (.jsonl) and text logs that can be read, the newest first."""
        listed = []
        for path in self._folders.runs():
            state = path.stat()
            listed.append({"path": str(path), "bytes": state.st_size, "modified": state.st_mtime})
        return listed[:_MOST_RUNS]

    def read_report(self, path: str) -> Json:
        """Diagnose the last run of a file or folder: verdict, findings, fixes, holders, limits."""
        from leakguard.render.json_report import report_value

        value = report_value(self._report(path))
        rows = value["trend"]
        value["trend"] = (
            rows
            if len(rows) <= _LISTED_ROWS
            else [*rows[: _LISTED_ROWS // 2], *rows[-_LISTED_ROWS // 2 :]]
        )
        return _plain_json(value)

    def read_finding(self, path: str, fingerprint: str) -> Json:
        """Give one finding with its evidence: facts, the snapshot that shows it, and the source."""
        from leakguard.render import outline
        from leakguard.render.json_report import finding_value
        from leakguard.render.log_block import leak_block, snapshot_block

        report = self._report(path)
        finding = _finding_by(report, fingerprint)
        shown, least = outline.evidence(report, finding), report.run.info.large_object
        return _plain_json({
            "finding": finding_value(finding),
            "text": leak_block(finding),
            "snapshot": None if shown is None else snapshot_block(shown, least),
            "source": self._source(finding),
        })  # fmt: skip

    def compare_runs(self, before: str, after: str) -> Json:
        """Return what changed between two runs: new and gone findings, growth, peaks, counts."""
        from leakguard.analysis.comparison import compare
        from leakguard.render.comparison import render_comparison

        comparison = compare(self._report(before), self._report(after))
        return cast(Json, json.loads(render_comparison(comparison, "json", Layout())))

    def check_budget(self, path: str, budget: str) -> Json:
        """Check a run against the limits of a TOML file: which are kept, broken or not measured."""
        from leakguard.analysis import budget as budgets
        from leakguard.render.checks import render_checks

        report = self._report(path)
        checks = budgets.check(report, read_budget(self._folders.inside(budget)))
        return cast(Json, json.loads(render_checks(report, checks, "json", Layout())))

    def ask_process(self, pid: int) -> str:
        """Ask a live process, under leakguard run or with on_signal=, who holds what, now."""
        from leakguard.render.snapshot import render_holders

        seen, out = ask(pid, _WAIT)
        if out is None:
            raise UsageError(f"process {pid} writes no run in a folder that may be read")
        self._folders.inside(out)
        return render_holders(seen)

    def explain(self, word: str) -> str:
        """Explain a word of a report: its meaning, how it looks in code, the fix, a real case."""
        from leakguard.render.explanations import explained, explanations

        entry = explained(word)
        if entry is None:
            known = ", ".join(entry.name for entry in explanations())
            raise UsageError(f"no explanation of {word!r}; ask for one of {known}")
        return entry.text

    def _report(self, path: str) -> Report:
        return read_report(self._folders.inside(path))

    def _source(self, finding: Finding) -> str | None:
        from leakguard.render.source import source_lines

        for folder in self._folders.folders:
            lines = source_lines(finding.created_at, folder)
            if lines:
                marked = (
                    f"{'>' if line.made else ' '}{line.number:5d}  {line.text}" for line in lines
                )
                return "\n".join(marked)
        return None


TOOLS = ("list_runs", "read_report", "read_finding", "compare_runs", "check_budget", "ask_process",
         "explain")  # fmt: skip


def server(folders: Sequence[Path]) -> Any:
    """Return the server for the runs in ``folders``; its ``run()`` serves standard input/output.

    Raises:
        UsageError: a path is no folder, or the extra ``mcp`` is not installed.
    """
    try:
        from mcp.server import MCPServer
    except ImportError:
        raise UsageError(
            f"the server needs the package mcp, 2 or later; {install('mcp')}"
        ) from None
    tools = Tools(Folders(folders))
    made = MCPServer("leakguard", version=__version__, instructions=_INSTRUCTIONS,
                     log_level="WARNING")  # fmt: skip
    for name in TOOLS:
        made.add_tool(_refusing_in_one_line(getattr(tools, name)), name=name)
    return made


def _refusing_in_one_line(tool: Callable[..., T]) -> Callable[..., T]:
    """Return the tool such that its errors reach the assistant as one line, not a traceback."""
    from mcp.server.mcpserver.exceptions import ToolError

    @functools.wraps(tool)
    def asked(**arguments: Any) -> T:
        try:
            return tool(**arguments)
        except LeakguardError as error:
            raise ToolError(str(error)) from None

    return asked


def _finding_by(report: Report, fingerprint: str) -> Finding:
    for finding in report.findings:
        if finding.fingerprint == fingerprint:
            return finding
    known = ", ".join(finding.fingerprint for finding in report.findings) or "none"
    raise UsageError(f"the run has no finding {fingerprint!r}; its fingerprints: {known}")


def _plain_json(value: Json) -> Json:
    from leakguard.render.json_report import finite_json

    return cast(Json, json.loads(finite_json(value)))
