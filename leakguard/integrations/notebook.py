"""``%load_ext leakguard``: the magics ``%%leakguard`` (run a cell) and ``%leakguard`` (now)."""

from __future__ import annotations

from typing import Any

from leakguard.errors import UsageError
from leakguard.guard import LeakGuard
from leakguard.live.present import now
from leakguard.render.holdings import render_holdings

_HELP = "write %%leakguard for a cell with a loop over guard.generations(...), or %%leakguard 10"


def load(shell: Any) -> None:
    """Register the magics with an IPython shell."""
    shell.register_magic_function(
        lambda line, cell: watch_cell(shell, line, cell), "cell", "leakguard"
    )
    shell.register_magic_function(lambda line: show_now(), "line", "leakguard")


def show_now() -> None:
    """Print what holds memory now and may be released: the magic ``%leakguard``."""
    print(render_holdings(now()), end="")


def watch_cell(shell: Any, line: str, cell: str) -> None:
    """Run a cell under a guard and show its report as one output.

    ``%%leakguard 10`` runs the cell ten times, each time as a generation. Without a number the cell
    runs once, with the guard in the variable ``guard`` for a loop over ``guard.generations(...)``.

    Raises:
        IPython.core.error.UsageError: the text after ``%%leakguard`` is no number of rounds.
    """
    try:
        rounds = _rounds(line)
    except UsageError as error:
        raise _without_traceback(error) from None
    body = f"\n{shell.transform_cell(cell)}"  # keeps the cell's line numbers
    number = len(shell.history_manager.input_hist_parsed) - 1  # execution_count may be one ahead
    code = shell.compile(body, shell.compile.cache(body, number), "exec")
    # The user repeats the cell only to find leaks, so the cost of the guard is not limited then.
    guard = LeakGuard(report=None, name="%%leakguard", max_overhead=None if rounds else 0.01)
    with guard:
        if rounds:
            for _ in guard.generations(range(1, rounds + 1)):
                exec(code, shell.user_ns)
        else:
            shell.user_ns["guard"] = guard
            exec(code, shell.user_ns)
    from IPython.display import display

    display(guard.report())


def _without_traceback(error: UsageError) -> Exception:
    """Return the error as IPython's error for magics, which IPython shows as one line."""
    from IPython.core.error import UsageError as MagicError

    plain: Exception = MagicError(str(error))
    return plain


def _rounds(line: str) -> int:
    text = line.strip()
    if not text:
        return 0
    if not (text.isdecimal() and int(text)):
        raise UsageError(f"%%leakguard {text}: that is no number of rounds; {_HELP}")
    return int(text)
