"""Runs out of the text logs that trainers print."""

from __future__ import annotations

import re
from pathlib import Path

from leakguard.errors import UnreadableRun
from leakguard.model import Run
from leakguard.store.textlog.block import Blocks
from leakguard.store.textlog.line import texts
from leakguard.store.textlog.opened import open_log
from leakguard.store.textlog.runs import Runs
from leakguard.store.textlog.source import Source

__all__ = ["read_runs"]

# What can stand on the lines before a block: its frame, its heading, a diagnosis that quotes it.
_BEGINS = re.compile(rb"={20}|MEMORY |LEAK ")


def read_runs(path: Path) -> list[Run]:
    """Read every run in a text log: one for each process and each restart.

    Raises:
        UnreadableRun: the file is missing, empty, binary, or holds no memory snapshot.
    """
    runs = Runs()
    blocks = Blocks(runs.take)
    with open_log(path) as file:
        source = Source(file, [b"MEMORY "])
        for raw, whole in source.lines(lambda: blocks.busy):
            if not blocks.busy and not _BEGINS.search(raw):
                continue
            lines = texts(raw)
            for index, text in enumerate(lines):
                blocks.feed(text, whole or index < len(lines) - 1)
    blocks.close()
    if not runs.found:
        raise UnreadableRun(_nothing_found(path, source.size, runs))
    return runs.finish()


def _nothing_found(path: Path, size: int, runs: Runs) -> str:
    seen = f"{runs.headings} snapshot headings without an RSS line" if runs.headings else "none"
    return (
        f"no memory snapshot in {path} ({size:,} bytes): looked for blocks headed "
        f"'MEMORY SNAPSHOT:', 'MEMORY TREND' or 'MEMORY GROWTH' and found {seen}; "
        "let the trainer print them with LeakGuard(log=sys.stdout), or give the run's .jsonl file"
    )
