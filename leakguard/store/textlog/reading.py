"""One pass over a log: blocks, and on request the single lines that tell of memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from leakguard.errors import UnreadableRun
from leakguard.model import Run
from leakguard.store.textlog import one_line
from leakguard.store.textlog.anchor import Anchor
from leakguard.store.textlog.block import Block, Blocks
from leakguard.store.textlog.draft import Draft
from leakguard.store.textlog.line import texts
from leakguard.store.textlog.one_line import OneLiners
from leakguard.store.textlog.opened import looks_binary, open_log
from leakguard.store.textlog.prefix import speaker
from leakguard.store.textlog.runs import Runs
from leakguard.store.textlog.source import Source

_ANCHOR = b"MEMORY"
# A block's frame stands before its heading, and a diagnosis before the snapshot it repeats.
_LEADS = (b"=" * 20, b"LEAK DETECTED", b"LEAK SUSPECTED", b"NOT DECIDED")
_BEGINNINGS = (_ANCHOR, *_LEADS)


class Reading:
    """What one pass found."""

    def __init__(self, path: Path, single_lines: bool) -> None:
        """Read the log.

        Raises:
            UnreadableRun: it is missing, empty or damaged.
        """
        self._path = path
        self._single_lines = single_lines
        self._found = Runs()
        self._blocks = Blocks(self._take)
        self._said = OneLiners()
        with open_log(path) as file:
            anchors = (_ANCHOR, *one_line.ANCHORS) if single_lines else (_ANCHOR,)
            source = Source(file, [Anchor(text) for text in anchors], _LEADS)
            for piece, whole in source.pieces(lambda: self._blocks.busy):
                self._feed(piece, whole)
            self._size = source.size
        self._blocks.close()

    @property
    def complete(self) -> bool:
        """True when single lines could add nothing: the blocks name their generations."""
        return self._found.has_generations

    def runs(self) -> list[Run]:
        """Return the runs of this pass.

        Raises:
            UnreadableRun: there is no snapshot in the log.
        """
        notes: tuple[str, ...] = ()
        if not self._found.found:
            self._found.events = self._said.points
            notes = tuple(self._missing())
        runs = self._found.finish(self._said.memory_limit, notes)
        if not runs:
            raise UnreadableRun(self._nothing())
        return runs

    def _feed(self, piece: bytearray, whole: bool) -> None:
        feed = self._feed_both if self._single_lines else self._blocks.feed
        if not self._single_lines:
            del piece[: self._blocks.feed_plain(piece)]
            if not (self._blocks.busy or any(word in piece for word in _BEGINNINGS)):
                return
        *lines, last = texts(piece)
        for line in lines:
            feed(line, True)
        feed(last, whole)

    def _feed_both(self, line: str, whole: bool) -> None:
        self._said.feed(line, whole)
        self._blocks.feed(line, whole)

    def _take(self, block: Block) -> None:
        self._found.take(block, speaker(block.prefix), self._said)

    def _missing(self) -> Iterator[str]:
        """What a log of single lines cannot tell."""
        yield (
            "the log has single lines only, no MEMORY SNAPSHOT blocks: virtual and GPU memory, "
            "peaks and the counts of lists, dicts, arrays and tensors are not known"
        )
        points = [draft for _, draft in self._said.points if isinstance(draft, Draft)]
        if all(draft.rss is None for draft in points):
            yield "no line gives the RAM in use; growth in bytes is not known"
        if not any(draft.watched for draft in points):
            yield "no line counts objects; which objects grow is not known"
        if all(draft.place.generation is None for draft in points):
            yield "no line names a generation; growth per generation is not known"
        elif all(draft.place.phase is None for draft in points):
            yield "no line names a phase; which phase grows is not known"
        if self._said.folded:
            yield f"{self._said.folded} lines were followed by a later one in the same phase"

    def _nothing(self) -> str:
        if self._path.is_file() and looks_binary(self._path):
            return (
                f"{self._path} is binary, not a text log; give the log that the trainer printed "
                "or the .jsonl file of the run"
            )
        cut = self._found.headings
        seen = f"found {cut} snapshot headings without an RSS line" if cut else "found none"
        return (
            f"no memory snapshot in {self._path} ({self._size:,} bytes): looked for "
            "'MEMORY SNAPSHOT:', 'MEMORY TREND' and 'MEMORY GROWTH' blocks and for lines such as "
            f"'RAM: 35.2 GB', and {seen}; let the trainer print them with "
            "LeakGuard(log=sys.stdout), or give the .jsonl file of the run"
        )
