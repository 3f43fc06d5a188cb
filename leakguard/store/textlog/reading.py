"""One pass over a log: blocks, and on request single lines that give memory."""

from __future__ import annotations

from pathlib import Path

from leakguard.errors import UnreadableRun
from leakguard.model import Run
from leakguard.store.textlog import one_line
from leakguard.store.textlog.anchors import Anchors
from leakguard.store.textlog.block import Block, Blocks
from leakguard.store.textlog.file import LogSource, Readable, looks_binary, open_log
from leakguard.store.textlog.line import speaker, texts
from leakguard.store.textlog.one_line import OneLiners
from leakguard.store.textlog.runs import Runs

_HEADING = b"MEMORY "
# Words of lines that are read together with the heading after them. A line of ``=``, the frame of a
# block, comes directly before the heading. A line with a verdict comes before a snapshot that a
# diagnosis repeats: without this line, the repeated snapshot would count as a new one.
_LEADS = Anchors((b"=" * 20, b"LEAK DETECTED", b"LEAK SUSPECTED", b"NOT DECIDED", b"NOT A LEAK"))
_BLOCKS = Anchors((_HEADING,))
_BEGINNINGS = Anchors((_HEADING, *_LEADS.texts))
_ALL = Anchors((_HEADING, *one_line.ANCHORS))
_ALL_AND_BRACKETS = Anchors((*_ALL.texts, *one_line.BRACKETS))


class Reading:
    """One pass over a log, and what it found."""

    def __init__(self, path: Path, large: bool, brackets: bool = False) -> None:
        """Read the log; with ``brackets``, ``[n/N]`` at the start of a line names a round.

        Once the blocks of a ``large`` log name their generations, only blocks are searched for,
        because single lines could add nothing.

        Raises:
            UnreadableRun: the log is missing, empty or damaged.
        """
        self._prepare(path, large, brackets)
        with open_log(path) as file:
            self._source = self._source_of(file)
            self.read_on()
        self._blocks.close()
        self._said.tables.close()

    @classmethod
    def following(cls, path: Path, file: Readable, brackets: bool) -> Reading:
        """Return a reading of a growing log; each ``read_on`` reads what has been added by then.

        ``file`` yields complete lines only.
        """
        reading = cls.__new__(cls)
        reading._prepare(path, False, brackets)
        reading._source = reading._source_of(file)
        return reading

    def _prepare(self, path: Path, large: bool, brackets: bool) -> None:
        self._path = path
        self._large = large
        self._single_lines = True
        self._brackets = brackets
        self._found = Runs()
        self._blocks = Blocks(self._take)
        self._said = OneLiners(self._found.singles.add, brackets)

    def _source_of(self, file: Readable) -> LogSource:
        anchors = _ALL_AND_BRACKETS if self._brackets else _ALL
        return LogSource(file, anchors, _HEADING, _LEADS)

    def read_on(self) -> bool:
        """Read to the current end; return whether there was anything new."""
        before = self._source.size
        for piece, whole in self._source.pieces(lambda: self._blocks.busy or self._in_table):
            self._feed(piece, whole)
        return self._source.size > before

    @property
    def _in_table(self) -> bool:
        return self._single_lines and self._said.tables.busy

    @property
    def names_rounds(self) -> bool:
        """True if this pass found a block or line that names a round, or found nothing at all."""
        return self._found.names_rounds or not self._found.found_something

    def runs(self) -> list[Run]:
        """Return the runs of this pass.

        Raises:
            UnreadableRun: there is no snapshot in the log.
        """
        runs = self._found.finish(self._said.memory_limit, self._said.folded)
        runs = runs or self._said.tables.samples.runs(self._path)
        if not runs:
            raise UnreadableRun(self._nothing())
        return runs

    def _feed(self, piece: bytearray, whole: bool) -> None:
        if self._large:
            del piece[: self._blocks.feed_plain(piece)]
            if self._single_lines and self._found.complete:
                self._single_lines, self._source.anchors = False, _BLOCKS
        feed = self._feed_both if self._single_lines else self._blocks.feed
        matters = self._single_lines or self._blocks.busy
        if not matters and _BEGINNINGS.find(piece, 0, len(piece)) < 0:
            return
        *lines, last = texts(piece)
        for line in lines:
            feed(line, True)
        feed(last, whole)

    def _feed_both(self, line: str, whole: bool) -> None:
        self._said.feed(line, whole)
        self._blocks.feed(line, whole)

    def _take(self, block: Block) -> None:
        self._found.take(block, speaker(block.prefix), self._said.add_to)

    def _nothing(self) -> str:
        if self._path.is_file() and looks_binary(self._path):
            return (
                f"{self._path} is binary, not a text log; give the log that the trainer printed "
                "or the .jsonl file of the run"
            )
        cut = self._found.headings
        seen = f"found {cut} snapshot headings without an RSS line" if cut else "found none"
        return (
            f"no memory snapshot in {self._path} ({self._source.size:,} bytes): looked for "
            f"'MEMORY SNAPSHOT:' blocks and lines such as 'RAM: 35.2 GB', and {seen}; read lines "
            "of another form with --pattern 'mem=(?P<ram_mib>\\d+)' (report --help lists all "
            "names), or give the .jsonl file of the run"
        )
