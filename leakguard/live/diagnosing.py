"""A diagnosis of the run so far, in the middle of the loop: it leaves nothing behind."""

from __future__ import annotations

from leakguard.model import Report, Run


def diagnose_within(run: Run) -> Report:
    """Diagnose a run that goes on, and let go of what the diagnosis keeps for a next one.

    Kept tables of noise, up to 30,000 numbers for each length of a series, would be counted as
    growth of the program.
    """
    from leakguard.analysis import diagnose
    from leakguard.analysis.series import forget

    try:
        return diagnose(run)
    finally:
        forget()
