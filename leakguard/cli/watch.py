"""``leakguard watch``: follow a run, a log, a run directory or a process while it is running."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from leakguard.cli.output import wants_color
from leakguard.cli.report import in_project, job_in_log
from leakguard.errors import UnreadableRun, UsageError
from leakguard.live.outside_run import OutsideRun, run_file_of
from leakguard.model import Report
from leakguard.model.run import Run
from leakguard.render.live_view import live_line, live_view
from leakguard.render.text import columns
from leakguard.store.following import Followed, FollowedFolder, followed

# Share of the elapsed time that reading and judging the run may take. Chosen.
_JUDGING_SHARE = 0.2
# Seconds for which attaching waits until the process runs Python code again. Chosen.
_UNTIL_ATTACHED = 10.0
_WIDEST_SCREEN = 200  # most columns of a screen that are used


@click.command("watch")
@click.argument("what", metavar="PATH|PID")
@click.option("--every", default=2.0, show_default=True, type=click.FloatRange(min=0.05),
              metavar="SECONDS", help="Refresh interval in seconds.")  # fmt: skip
@click.option("--once", is_flag=True, help="Show the current state and exit.")
@click.option("--attach", is_flag=True,
              help="Attach to a process without a guard, as leakguard attach does; each refresh is "
                   "a look.")  # fmt: skip
@click.option("--color", type=click.Choice(("auto", "always", "never")), default="auto",
              show_default=True)  # fmt: skip
def watch(what: str, every: float, once: bool, attach: bool, color: str) -> int:
    """Follow a run file, a run directory, a text log, or process PID, until it ends or Ctrl-C.

    A terminal shows one screen, drawn again at each refresh; a pipe gets one line per generation.
    Of a process without a guard, only its memory as a whole is known, sampled at each refresh,
    unless it is attached to.
    """
    source, name = _source(what)
    colored = wants_color(color, None)
    sampled = isinstance(source, OutsideRun)
    with _attached(source, wanted=attach) as source:
        if once:
            report = _first(source, name, every, sampled=sampled)
            click.echo(live_view(report, width=_width(), color=colored))
            return 0
        try:
            if sys.stdout.isatty():
                _on_screen(source, name, every, colored)
            else:
                _in_lines(source, name, every)
        except KeyboardInterrupt:  # the way to leave
            return 0
    return 0


@contextmanager
def _attached(source: Followed, *, wanted: bool) -> Iterator[Followed]:
    """Yield the source, or, if attaching is wanted and needed, a source attached to the process.

    It is needed for a process without a guard.

    Raises:
        UsageError: attaching failed.
    """
    if not (wanted and isinstance(source, OutsideRun)):
        yield source
        return
    from leakguard.launch.attach.attached_run import AttachedRun, Timetable
    from leakguard.launch.attach.attachment import attached_to

    with attached_to(source.pid, _UNTIL_ATTACHED) as session:
        yield AttachedRun(session, Timetable(every=0.0))


def _source(what: str) -> tuple[Followed, str]:
    """Return the source to follow, and its name.

    Raises:
        UsageError: there is no such file and no such process.
    """
    if what.isdigit() and not Path(what).exists():
        file = run_file_of(int(what))
        if file is None:
            return OutsideRun(int(what)), f"process {what}"
        return followed(file), str(file)
    try:
        return followed(Path(what)), what
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UsageError(f"cannot watch {what}: {reason}") from None


def _first(source: Followed, name: str, every: float, *, sampled: bool) -> Report:
    """Return the report of the current state.

    For a process that is ``sampled`` from outside, two samples are taken.

    Raises:
        UnreadableRun: the source has no snapshot yet.
    """
    source.poll()
    if sampled:
        time.sleep(every)
        source.poll()
    report = _report(source, name)
    if report is None:
        raise UnreadableRun(f"{name} holds no snapshot yet; without --once, watch waits for one")
    return report


def _in_lines(source: Followed, name: str, every: float) -> None:
    """Write a line for each new generation and for each change of the verdict."""
    before: tuple[object, ...] = ()
    for report in _reports(source, name, every):
        if report is None:
            continue
        now = (report.run.generations[-1:], report.verdict)
        if now != before:
            click.echo(live_line(report))
        before = now


def _on_screen(source: Followed, name: str, every: float, color: bool) -> None:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(no_color=not color, highlight=False)
    frame = f"leakguard watch {name}: nothing yet"
    with Live(console=console, screen=True, auto_refresh=False) as live:
        for report in _reports(source, name, every):
            if report is not None:
                frame = live_view(report, width=_width(), color=color, state=_clock())
            live.update(Text.from_ansi(frame, no_wrap=True), refresh=True)
    click.echo(frame)  # the last screen stays readable when the run is over


def _reports(source: Followed, name: str, every: float) -> Iterator[Report | None]:
    """Yield the current report at each refresh, or None if there is none yet; end with the run."""
    report: Report | None = None
    with _as_usage(name):
        while True:
            began = time.monotonic()
            over = source.is_over  # before polling, so that nothing is missed in between
            if source.poll() or report is None:
                report = _report(source, name)
            yield report
            if over and report is not None:
                return
            time.sleep(max(every, (time.monotonic() - began) / _JUDGING_SHARE))


@contextmanager
def _as_usage(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot read {name} any more: {error.strerror}") from None


def _report(source: Followed, name: str) -> Report | None:
    """Diagnose the current state: the whole job if it is one, else the last run."""
    from leakguard.analysis import diagnose
    from leakguard.analysis.job import diagnose_job
    from leakguard.store.run_directory import job_of

    runs = source.runs()
    job = (
        job_of(source.files())
        if isinstance(source, FollowedFolder)
        else job_in_log(Path(name), runs)
    )
    if job is not None:
        return diagnose_job(job)[0]
    return diagnose(in_project(_latest(runs), name)) if runs else None


def _latest(runs: list[Run]) -> Run:
    """Return the run that began last; of those that began together, the one with most rounds."""
    return max(runs, key=lambda run: (run.info.started or "", len(run.generations)))


def _width() -> int:
    return (
        min(shutil.get_terminal_size((80, 24)).columns, _WIDEST_SCREEN)
        if sys.stdout.isatty()
        else columns()
    )


def _clock() -> str:
    return time.strftime("%H:%M:%S")
