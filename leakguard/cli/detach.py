"""``leakguard detach``: end the ``leakguard attach`` of a process, after a last look."""

from __future__ import annotations

import click

from leakguard.launch.attach.presence import have_it_leave


@click.command("detach")
@click.argument("pid", type=click.IntRange(min=1), metavar="PID")
@click.option("--wait", default=60.0, show_default=True, type=click.FloatRange(min=0.1),
              metavar="SECONDS", help="Give up after SECONDS.")  # fmt: skip
def detach(pid: int, wait: float) -> int:
    """Have the leakguard attach that watches process PID take a last look and leave.

    It writes its run and shows its report where it was started. One that was killed has left by
    itself.
    """
    have_it_leave(pid, wait)
    return 0
