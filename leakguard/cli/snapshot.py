"""``leakguard snapshot``: inspect a running process: what holds its memory, now."""

from __future__ import annotations

import click

from leakguard.capture.outside import largest_mappings, outside_view
from leakguard.cli.output import complain
from leakguard.errors import NobodyListens, UsageError
from leakguard.live.call import ask
from leakguard.model.snapshot import Snapshot
from leakguard.render.text import columns


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

    A program under leakguard run answers at once, and so does any other guard with on_signal=. A
    process without a guard is asked with --attach; else its memory is printed as the kernel reports
    it.
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
