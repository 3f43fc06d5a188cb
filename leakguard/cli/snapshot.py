"""``leakguard snapshot``: inspect a running process: what holds its memory, now."""

from __future__ import annotations

import time

import click

from leakguard.capture.outside import largest_mappings, outside_view
from leakguard.cli.output import complain
from leakguard.errors import NobodyListens, UsageError
from leakguard.live import answering
from leakguard.live.beacon import Beacon, find_beacon
from leakguard.model.snapshot import Snapshot
from leakguard.render.text import columns

_ASK_EVERY = 0.1


@click.command("snapshot")
@click.argument("pid", type=click.IntRange(min=1), metavar="PID")
@click.option("--wait", default=60.0, show_default=True, type=click.FloatRange(min=0.1),
              metavar="SECONDS", help="Give up if there is no answer after SECONDS.")  # fmt: skip
@click.option("--attach", is_flag=True,
              help="Attach to a process without a guard, as leakguard attach does.")  # fmt: skip
@click.option("--now", is_flag=True,
              help="Attach, and list what may go, with the statement that frees it.")  # fmt: skip
def snapshot(pid: int, wait: float, attach: bool, now: bool) -> int:
    """Inspect the running process PID: what holds its memory, now.

    A program under leakguard run answers at once. Any other guard needs on_signal= and answers
    between two steps of its main thread. A process without a guard is asked with --attach; else its
    memory is printed as the kernel reports it.
    """
    from leakguard.render.snapshot import render_holders

    if now:
        click.echo(_holdings(pid, wait), nl=False)
        return 0
    try:
        seen, _ = ask(pid, wait)
    except NobodyListens as nobody:
        if not attach:
            click.echo(_outside(pid, nobody), nl=False)
            complain(f"{nobody}; leakguard snapshot --attach {pid} asks it as it is")
            return 0
        seen = _attached(pid, wait)
    click.echo(render_holders(seen), nl=False)
    return 0


def _holdings(pid: int, wait: float) -> str:
    """Return the text that lists what may be released in a process.

    Raises:
        UsageError: attaching failed, or no look could be taken.
    """
    from leakguard.capture.probe import Unavailable
    from leakguard.launch.attach.attachment import attached_to
    from leakguard.model.holding import Holdings
    from leakguard.render.holdings import render_holdings

    with attached_to(pid, wait) as session:
        try:
            return render_holdings(session.ask("holdings", Holdings))
        except Unavailable as reason:
            raise UsageError(f"process {pid} cannot tell: {reason}") from None


def _attached(pid: int, wait: float) -> Snapshot:
    """Attach to a process without a guard, and return a look at it.

    Raises:
        UsageError: attaching failed.
    """
    from leakguard.launch.attach.attached_run import AttachedRun, Timetable
    from leakguard.launch.attach.attachment import attached_to

    with attached_to(pid, wait) as session:
        return AttachedRun(session, Timetable(every=wait)).inspect()


def _outside(pid: int, nobody: UsageError) -> str:
    """Return the text about a process as the kernel reports it.

    Raises:
        UsageError: there is no such process, or the kernel does not let us read it.
    """
    from leakguard.render.snapshot import render_outside

    try:
        reading = outside_view(pid)
    except ProcessLookupError:
        raise UsageError(f"there is no process {pid}") from None
    except OSError:
        raise nobody from None
    return render_outside(f"process {pid}", reading, largest_mappings(pid), columns())


def ask(pid: int, wait: float) -> tuple[Snapshot, str | None]:
    """Return a look that process ``pid`` takes now, and the file or folder of its run, if any.

    Raises:
        NobodyListens: the process has no guard that answers.
        UsageError: the guard does not answer within ``wait`` seconds, or is not to be trusted.
    """
    try:
        return answering.ask(pid, wait)
    except OSError:  # no socket; the guard may still answer a signal
        beacon = find_beacon(pid)
    before = _latest(beacon)
    beacon.ask()
    return _await_snapshot(beacon, before, wait), str(beacon.out)


def _await_snapshot(beacon: Beacon, before: Snapshot | None, wait: float) -> Snapshot:
    deadline = time.monotonic() + wait
    while time.monotonic() < deadline:
        latest = _latest(beacon)
        if latest is not None and latest.holders and (before is None or latest != before):
            return latest
        time.sleep(_ASK_EVERY)
    raise UsageError(
        f"process {beacon.pid} did not answer within {wait:g} s; its main thread may be busy in C"
    )


def _latest(beacon: Beacon) -> Snapshot | None:
    """Return the newest look in the run that was requested by a signal; None if there is none."""
    from leakguard.live.guarded_run import REQUESTED
    from leakguard.store import load_runs

    run = load_runs(beacon.out)[-1]
    return next((s for s in reversed(run.snapshots) if s.label == REQUESTED), None)
