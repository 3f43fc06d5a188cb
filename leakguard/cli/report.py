"""``leakguard report``: read runs and report on them."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

import click

from leakguard.cli.accepted_file import accepted_now, say_what_expired, with_reasons
from leakguard.cli.output import append_summary, complain, wants_color, write_document
from leakguard.errors import LeakguardError, UnreadableRun, UsageError
from leakguard.live.project_settings import project_ignores
from leakguard.model.finding import SEVERITY, Finding, Verdict
from leakguard.model.job import Job
from leakguard.model.report import Report
from leakguard.model.run import Run
from leakguard.render import FORMATS, document, render_many
from leakguard.render.chain_graph import draw_chain
from leakguard.render.outline import worst
from leakguard.render.text import columns
from leakguard.store import is_url
from leakguard.store.textlog.pattern import GROUPS, read_pattern

_STANDARD_INPUT = Path("-")
_BY_SUFFIX = {".json": "json", ".md": "markdown", ".html": "html", ".xml": "junit",
              ".sarif": "sarif", ".svg": "svg", ".png": "png", ".txt": "terminal",
              ".log": "terminal", "": "terminal"}  # fmt: skip
# The names that the viewers of profiles expect; they win over the last suffix.
_BY_ENDING = {".speedscope.json": "speedscope", ".pb.gz": "pprof", ".pprof": "pprof"}


class RunPath(click.Path):
    """The place of runs: a path or a URL; a URL stays a string, because a Path would change it."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path | str:
        """Return a URL as it is, and anything else as a path."""
        if is_url(value):
            return str(value)
        return cast("Path", super().convert(value, param, ctx))


@click.command("report")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=RunPath())
@click.option("--format", "format_", type=click.Choice(FORMATS),
              help="Default: by the suffix of FILE, else terminal.")  # fmt: skip
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path),
              help="Write to FILE instead of standard output.")  # fmt: skip
@click.option("--fail-on", type=click.Choice(("leak", "suspect")),
              help="Exit with status 1 at this verdict or worse.")  # fmt: skip
@click.option("--color", type=click.Choice(("auto", "always", "never")), default="auto",
              show_default=True)  # fmt: skip
@click.option("--graph", metavar="FILE", type=click.Path(path_type=Path),
              help="Also draw the leak trace into FILE (.svg or .png).")  # fmt: skip
@click.option(
    "--brief", "detail", flag_value="brief", help="Print verdict, fix, holder and line only."
)
@click.option("--full", "detail", flag_value="full", help="Print every table, also in a terminal.")
@click.option("--all", "all_runs", is_flag=True,
              help="Report every run of a file, not only the last.")  # fmt: skip
@click.option("--pattern", metavar="REGEX",
              help="Read PATH as a log by this regular expression. Named groups: "
              f"{GROUPS}.")  # fmt: skip
@click.option("--push", metavar="URL",
              help="Also send the pprof profile to Pyroscope (URL ends in /ingest) or Parca "
              "(/profiles/writeraw).")  # fmt: skip
@click.option("--redact", is_flag=True,
              help="Hide home folders, user names and secrets in command lines.")  # fmt: skip
def report(
    paths: tuple[Path | str, ...], format_: str | None, output: Path | None,
    fail_on: Verdict | None, color: str, graph: Path | None, detail: str | None,
    all_runs: bool, redact: bool, pattern: str | None, push: str | None,
) -> int:  # fmt: skip
    """Report on the runs at PATH: a run file (.jsonl), a run directory (or its URL), a text log, or
    - for a log on standard input.

    If a file holds several runs, the last one is reported (see --all).
    """
    chosen = format_ or format_of(output)
    say_what_expired()
    reports, unusable = read_reports(paths, all_runs, pattern)
    if not reports:
        return 2
    reports = [with_reasons(each) for each in reports]
    drawn = document(
        reports, chosen, width=columns(), color=wants_color(color, output), redact=redact,
        fail_on=fail_on or "leak", detail=detail or "usual",
        sources=Path.cwd(),
    )  # fmt: skip
    write_document(drawn, output)
    if graph is not None:
        draw_chain(worst(reports), graph)
    if push is not None:
        from leakguard.cli import profile_server  # HTTP is loaded only where it is needed

        profile_server.push(reports, push, redact=redact)
    if chosen == "github":
        append_summary(render_many(reports, "markdown", redact=redact))
    return 2 if unusable else int(fails(reports, fail_on))


def read_reports(
    paths: tuple[Path | str, ...], all_runs: bool, pattern: str | None = None
) -> tuple[list[Report], int]:
    """Return the reports of all readable paths, and how many paths could not be read.

    A process that was restarted has several runs. Only the last one is reported, unless
    ``all_runs`` asks for all of them.
    """
    from leakguard.analysis import diagnose

    reports: list[Report] = []
    unusable = 0
    for path in paths:
        try:
            job = read_job(path) if pattern is None else None
            files = _run_files(path) if job is None and pattern is None else ()
            if files:  # one by one, so that an unreadable file does not hide the others
                readable, unreadable = read_reports(files, all_runs, pattern)
                reports += readable
                unusable += unreadable
                continue
            runs = read_runs(path, pattern) if job is None else list(job.others)
            if job is None and (job := job_in_log(Path(path), runs)) is not None:
                runs = list(job.others)
            if job is not None:
                reports += _job_reports(job, all_runs)
            each = map(diagnose, runs) if all_runs else _of_last_runs(runs)
            reports += each
        except LeakguardError as error:
            complain(str(error))
            unusable += 1
    return reports, unusable


def _run_files(path: Path | str) -> tuple[Path, ...]:
    """Return the run files in a folder; empty if ``path`` is no folder."""
    from leakguard.store import run_files

    return tuple(run_files(path)) if isinstance(path, Path) and path.is_dir() else ()


def _job_reports(job: Job, all_runs: bool) -> list[Report]:
    """Return the report of a job; with ``all_runs``, also the reports of its processes."""
    from leakguard.analysis.job import diagnose_job

    whole, each = diagnose_job(job)
    return [whole, *each] if all_runs else [whole]


def read_job(path: Path | str) -> Job | None:
    """Return the job in a run directory; None if ``path`` is no run directory.

    The findings that the project of the working folder ignores are ignored.
    """
    from leakguard.store import load_job

    job = load_job(path)
    if job is None:
        return None
    members = (replace(m, run=in_project(m.run, m.label)) for m in job.members)
    others = (in_project(run, os.fspath(path)) for run in job.others)
    return replace(job, members=tuple(members), others=tuple(others))


def job_in_log(path: Path, runs: Sequence[Run]) -> Job | None:
    """Return the pods, containers or GPUs in one log as a job; None for a log of one process.

    Args:
        path: the path of the log.
        runs: the runs that were read from the log.
    """
    from leakguard.store.run_directory import job_of

    several = any(run.info.series_of is not None for run in runs)
    return job_of([(path, list(runs))]) if several else None


def _of_last_runs(runs: Sequence[Run]) -> Iterator[Report]:
    """Yield the report of the last run in each file, with what earlier loops left behind."""
    from leakguard.analysis.earlier import diagnose_last

    earlier: list[Run] = []
    for run in runs:
        if is_last(run):
            yield diagnose_last(run, earlier)
            earlier.clear()
        else:
            earlier.append(run)


def is_last(run: Run) -> bool:
    """Return whether no other run of the same process follows in the file."""
    part, parts = run.part
    return part == parts


def read_report(path: Path | str) -> Report:
    """Return the report of the last run in a file, of the worst run in a folder, or of a job.

    Raises:
        UnreadableRun: there is no run at ``path``.
    """
    return read_processes(path)[0]


def chosen_finding(report: Report, number: int, run: Path | str) -> Finding:
    """Return a finding of a report by its number; the first is the worst.

    Raises:
        UsageError: there are fewer findings.
    """
    if number > len(report.findings):
        raise UsageError(f"{run} has {len(report.findings)} findings, so none is number {number}")
    return report.findings[number - 1]


def read_processes(path: Path | str) -> tuple[Report, list[Report]]:
    """Return the report that ``read_report`` returns, and one of each process or file it covers.

    Raises:
        UnreadableRun: there is no run, or one of several files cannot be read.
    """
    from leakguard.analysis import diagnose
    from leakguard.analysis.earlier import diagnose_last
    from leakguard.analysis.job import diagnose_job

    job = read_job(path)
    if job is not None:
        report, processes = diagnose_job(job)
        return report, processes + [diagnose(run) for run in job.others if is_last(run)]
    files = _run_files(path)
    if len(files) > 1:
        reports = [diagnose(_renamed(read_runs(file)[-1], file.name)) for file in files]
        return worst(reports), reports
    runs = read_runs(path)
    job = job_in_log(Path(path), runs)
    if job is not None:
        return diagnose_job(job)
    *earlier, last = runs
    reports = [diagnose_last(last, earlier)]
    return worst(reports), reports


def read_runs(path: Path | str, pattern: str | None = None) -> list[Run]:
    """Return the runs in a file, a folder or, for ``-``, standard input.

    ``pattern`` is a regular expression of the user for reading a log. A run without a name is named
    after its path. The findings that the project of the working folder ignores are ignored.
    """
    from leakguard.store import load_runs

    load = load_runs if pattern is None else partial(read_pattern, pattern=pattern)
    if path == _STANDARD_INPUT:
        return _piped_runs(load)
    return [in_project(run, os.fspath(path)) for run in load(Path(path))]


def _piped_runs(load: Callable[[Path], list[Run]]) -> list[Run]:
    with _spooled(sys.stdin.buffer) as copy:
        try:
            return [in_project(run, copy.name) for run in load(copy)]
        except UnreadableRun as error:
            raise UnreadableRun(str(error).replace(os.fspath(copy), copy.name)) from error


def in_project(run: Run, name: str) -> Run:
    """Return the run such that the findings that the project ignores or accepts are ignored.

    If the run has no name, it is called ``name``.
    """
    ignore = tuple(dict.fromkeys((*run.info.ignore, *project_ignores())))
    named = replace(run, info=replace(run.info, name=run.info.name or name, ignore=ignore))
    return accepted_now(named)


def _renamed(run: Run, name: str) -> Run:
    """Return the run named after its file, because several runs of a program have the same name."""
    return replace(run, info=replace(run.info, name=name))


@contextmanager
def _spooled(stream: BinaryIO) -> Iterator[Path]:
    """Copy a pipe to a temporary file, because reading a log needs to seek; yield the file."""
    with tempfile.TemporaryDirectory(prefix="leakguard-") as folder:
        copy = Path(folder) / "standard input"
        with copy.open("wb") as file:
            shutil.copyfileobj(stream, file)
        yield copy


def format_of(output: Path | None) -> str:
    """Return the format that the suffix of a file name stands for.

    Raises:
        UsageError: no format has this suffix.
    """
    for ending, name in _BY_ENDING.items():
        if output and output.name.lower().endswith(ending):
            return name
    suffix = output.suffix.lower() if output else ""
    if suffix not in _BY_SUFFIX:
        known = ", ".join(filter(None, (*_BY_SUFFIX, *_BY_ENDING)))
        raise UsageError(
            f"no format for {output}; choose one with --format, or a name that ends in {known}"
        )
    return _BY_SUFFIX[suffix]


def fails(reports: list[Report], fail_on: Verdict | None) -> bool:
    """Return whether the worst verdict is one that the caller asked to fail on."""
    return fail_on is not None and SEVERITY[worst(reports).verdict] >= SEVERITY[fail_on]
