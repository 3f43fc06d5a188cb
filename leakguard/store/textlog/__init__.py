"""Runs out of the text logs that trainers print.

The road of a line, with the file that each station lies in:

``file``      bytes of the log, unpacked; only the lines around a few words that matter go on
``line``      text without colours, bars and JSON; the prefix tells process and time
``block``     framed lines are gathered, whatever stands between them
``snapshot``  the rows of a ``MEMORY SNAPSHOT``, ``exact`` the numbers to the byte at its end, which
              a guard writes; ``table`` the rows of the trend and of the growth
``one_line``  ``RAM: 35.2 GB``, ``Generation 3 / 25`` and their kin, which need no block; the
              words of memory stand in ``spellings``, ``spelled`` reads what stands behind them
``tool_table``  what ``kubectl top``, ``docker stats``, ``top``, ``nvidia-smi`` and others print,
              columns of ``spellings`` too; ``series`` makes a run of each pod, container or GPU
``moment``    all of them become drafts of snapshots, each at its place in the run
``runs``      drafts by process, thinned when there are too many; ``part`` puts one run in order

``pattern`` reads a log by the user's own regular expression instead.
``number`` reads sizes and counts. ``reading`` is one walk along the whole road.
"""

from __future__ import annotations

from pathlib import Path

from leakguard.model import Run
from leakguard.store.textlog.reading import Reading

__all__ = ["read_runs"]

# Bytes; from here on looking for single lines beside blocks costs more than the few runs it helps.
_LARGE_LOG = 50_000_000


def read_runs(path: Path) -> list[Run]:
    """Read every run in a text log: one for each process and each restart.

    Raises:
        UnreadableRun: the file is missing, empty, binary, or holds no memory snapshot.
    """
    large = path.is_file() and path.stat().st_size > _LARGE_LOG
    reading = Reading(path, large)
    if not reading.names_rounds:
        reading = Reading(path, large, brackets=True)
    return reading.runs()
