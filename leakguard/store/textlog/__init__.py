"""Reads runs from the text logs that trainers print.

A line passes through these modules in order:

``file``      bytes of the log, decompressed; keeps only the lines around a few words that matter
``line``      text without colours, bars and JSON; the prefix gives the process and the time
``block``     collects the lines of each framed block, whatever is printed between them
``record``    unpacks the lines of the run file with which a guard's blocks end; the rest of such a
              block is not needed
``snapshot``  reads the rows of a ``MEMORY SNAPSHOT``; ``table`` reads the trend and the growth
``one_line``  reads ``RAM: 35.2 GB``, ``Generation 3 / 25`` and similar lines without a block; the
              words for memory are in ``spellings``, ``spelled`` reads the numbers after them
``tool_table``  reads what ``kubectl top``, ``docker stats``, ``top``, ``nvidia-smi`` and others
              print, with columns from ``spellings``; ``series`` makes a run of each pod,
              container or GPU
``moment``    drafts of snapshots, made from all of these, each at its place in the run
``runs``      drafts by process, thinned if there are too many; ``part`` orders one run

``pattern`` instead reads a log by the user's own regular expression.
``number`` reads sizes and counts. ``reading`` runs one pass through all of these.
"""

from __future__ import annotations

from pathlib import Path

from leakguard.model import Run
from leakguard.store.textlog.reading import Reading

__all__ = ["read_runs"]

# In a log of more bytes than this, single lines are ignored once the blocks name their generations,
# because single lines could then add nothing, and searching for them takes long. Chosen.
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
