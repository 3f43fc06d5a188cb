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

from leakguard.cli.output import complain, wants_color, write_document
from leakguard.cli.report import fails
from leakguard.launch.attach.attached_run import AttachedRun, Timetable
from leakguard.launch.attach.attachment import attached_to
from leakguard.model.finding import Verdict
from leakguard.render import document
from leakguard.render.text import columns

_MAKE_A_RUN = 2


@click.command("attach")
@click.argument("pid", type=click.IntRange(min=1), metavar="PID")
@click.option("--every", default=3.0, show_default=True, type=click.FloatRange(min=0.1),
              metavar="SECONDS",
              help="Time from look to look; each look is a generation.")  # fmt: skip
@click.option("--looks", default=10, show_default=True, type=click.IntRange(min=_MAKE_A_RUN),
              metavar="N", help="Leave after N looks.")  # fmt: skip
@click.option("--for", "seconds", type=click.FloatRange(min=0.1), metavar="SECONDS",
              help="Leave after SECONDS, instead of a number of looks.")  # fmt: skip
@click.option("-o", "--output", "out", metavar="RUN", type=click.Path(path_type=Path),
              help="The run file (default: leakguard-PID.jsonl).")  # fmt: skip
@click.option("--wait", default=10.0, show_default=True, type=click.FloatRange(min=0.1),
              metavar="SECONDS", help="Give up if the process has not come back to Python code "
              "after SECONDS.")  # fmt: skip
@click.option("--fail-on", type=click.Choice(("leak", "suspect")),
              help="Exit with status 1 at this verdict or worse.")  # fmt: skip
@click.option("--color", type=click.Choice(("auto", "always", "never")), default="auto",
              show_default=True)  # fmt: skip
def attach(
    pid: int, every: float, looks: int, seconds: float | None, out: Path | None, wait: float,
    fail_on: Verdict | None, color: str,
) -> int:  # fmt: skip
    """Attach to the Python process PID as it is, find what leaks, and leave.

    The process needs no preparation and no restart. It is looked at some times, in copies of it;
    then the run is written, the report shown, and nothing is left in the process. Ctrl-C, and
    leakguard detach PID, end it early, with a last look. It needs Linux, CPython 3.10 or later, and
    the right to debug the process.
    """
    from leakguard.analysis import diagnose

    count = looks if seconds is None else max(_MAKE_A_RUN, math.ceil(seconds / every))
    file = out or Path(f"leakguard-{pid}.jsonl")
    with attached_to(pid, wait) as session, _stopping() as stop:
        attached = AttachedRun(session, Timetable(every, count, file), stop)
        run = attached.follow(lambda number: _tell(number, count))
    if attached.ended is not None:
        complain(f"{attached.ended}; the report is of the looks until then")
    report = diagnose(run)
    write_document(
        document(
            [report], "terminal", width=columns(), color=wants_color(color, None),
            fail_on=fail_on or "leak", detail="usual", sources=Path.cwd(),
        ),
        None,
    )  # fmt: skip
    complain(f"the run is in {file}: leakguard report {file}")
    return int(fails([report], fail_on))


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
