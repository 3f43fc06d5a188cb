"""``leakguard attach``: find what leaks in a running process that was not prepared for it."""

from __future__ import annotations

import math
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import click

from leakguard.capture.outside import process_began
from leakguard.cli.output import complain, wants_color, write_document
from leakguard.cli.report import fails
from leakguard.errors import UsageError
from leakguard.launch.attach.attached_run import AttachedRun, Timetable
from leakguard.launch.attach.attachment import attached_to
from leakguard.live.run_directory import run_directory
from leakguard.model import Report
from leakguard.model.finding import Verdict
from leakguard.render import document
from leakguard.render.text import columns

_MAKE_A_RUN = 2


@click.command("attach")
@click.argument("pid", type=click.IntRange(min=1), metavar="PID")
@click.option("--every", default=3.0, show_default=True, type=click.FloatRange(min=0.1),
              metavar="SECONDS",
              help="Time from look to look, and of a generation.")  # fmt: skip
@click.option("--looks", default=10, show_default=True, type=click.IntRange(min=_MAKE_A_RUN),
              metavar="N", help="Leave after N looks.")  # fmt: skip
@click.option("--for", "seconds", type=click.FloatRange(min=0.1), metavar="SECONDS",
              help="Leave after SECONDS, instead of a number of looks.")  # fmt: skip
@click.option("-o", "--output", "out", metavar="RUN|DIR/",
              help="The run file (default: leakguard-PID.jsonl), or the folder of a job, in which "
                   "the process gets a file of its own.")  # fmt: skip
@click.option("--wait", default=10.0, show_default=True, type=click.FloatRange(min=0.1),
              metavar="SECONDS", help="Give up if the process has not come back to Python code "
              "after SECONDS.")  # fmt: skip
@click.option("--fail-on", type=click.Choice(("leak", "suspect")),
              help="Exit with status 1 at this verdict or worse.")  # fmt: skip
@click.option("--quiet", is_flag=True, help="Write the run, and show no report.")
@click.option("--began", type=float, hidden=True,
              help="Only if the process began then, as its number may be another's.")  # fmt: skip
@click.option("--grows", is_flag=True, hidden=True,
              help="Its memory is known to grow, so that the first suspect is traced.")  # fmt: skip
@click.option("--color", type=click.Choice(("auto", "always", "never")), default="auto",
              show_default=True)  # fmt: skip
def attach(
    pid: int, every: float, looks: int, seconds: float | None, out: str | None, wait: float,
    fail_on: Verdict | None, quiet: bool, began: float | None, grows: bool,
    color: str,
) -> int:  # fmt: skip
    """Attach to the Python process PID as it is, find what leaks, and leave.

    The process needs no preparation and no restart. It is looked at some times, in copies of it;
    then the run is written, the report shown, and nothing is left in the process. Ctrl-C, and
    leakguard detach PID, end it early, with a last look. It needs Linux, CPython 3.10 or later, and
    the right to debug the process.
    """
    from leakguard.analysis import diagnose

    count = looks if seconds is None else max(_MAKE_A_RUN, math.ceil(seconds / every))
    job = run_directory(out)
    if job is not None and job.is_remote:
        raise UsageError(f"-o {out}: give a folder of this machine")
    if began is not None and process_began(pid) != began:
        raise UsageError(f"process {pid} has ended")
    file = Path(out or f"leakguard-{pid}.jsonl")
    with attached_to(pid, wait) as session, _stopping() as stop:
        attached = AttachedRun(session, Timetable(every, count, file, job, grows), stop)
        run = attached.follow(lambda number: _tell(number, count))
    report = diagnose(run)
    if not quiet:
        _show(attached, report, color, fail_on)
    return int(fails([report], fail_on))


def _show(attached: AttachedRun, report: Report, color: str, fail_on: Verdict | None) -> None:
    if attached.ended is not None:
        complain(f"{attached.ended}; the report is of the looks until then")
    write_document(
        document(
            [report], "terminal", width=columns(), color=wants_color(color, None),
            fail_on=fail_on or "leak", detail="usual", sources=Path.cwd(),
        ),
        None,
    )  # fmt: skip
    complain(f"the run is in {attached.out}: leakguard report {attached.out}")


def _tell(number: int, count: int) -> None:
    """Show the number of the current look, if standard error is a terminal."""
    if sys.stderr.isatty():
        print(f"\rleakguard: look {number} of {count}", end="\r", file=sys.stderr, flush=True)


@contextmanager
def _stopping() -> Iterator[Event]:
    """Yield an event that SIGINT and SIGTERM set; a second signal raises KeyboardInterrupt."""
    stop = Event()

    def handle(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
