"""Keeps the run so far in bounded memory and in few objects.

Snapshots kept as objects would make the guard's own dicts and ints grow every generation, and a
guard looks for just that. So they are kept as encoded, compressed lines. If there are too many,
every second generation is dropped, so that the rest stays evenly spaced. Generations with a look
are kept, and so are the snapshots with the highest and the lowest numbers ever seen.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping

from leakguard.model.metric import RESOURCES

_NO_GENERATION = -1
#: For each of these numbers, the snapshot with the highest value is never dropped, because budgets
#: check the highest values.
HIGHEST = ("peak", "rss", "heap_in_use", *RESOURCES)
LOWEST = ("rss", "heap_in_use")
# Thinning never drops the first looks of a run and the first snapshots outside of generations: this
# many of each. Of later ones it drops every second, if there are too many. Chosen.
_FIRST = 8
# Uncompressed bytes that are compressed as one block. Lines of one run resemble one another, so a
# block of 64 kB shrinks to a tenth.
_RAW_BLOCK = 65_536
_ZLIB_LEVEL = 1  # the fastest: 64 kB of lines take 0.5 ms


class History:
    """Encoded snapshots of a run, at most about ``limit`` of them in ``most_bytes`` of text.

    Attributes:
        rounds: generations so far, kept or not.
        stride: one generation in this many is kept.
    """

    def __init__(self, limit: int = 4096, most_bytes: int = 50_000_000) -> None:
        self._limit = limit
        self._most_bytes = most_bytes
        self._lines = _PackedLines()
        self._rounds = array("q")
        self._looks = bytearray()
        self._serials = array("Q")
        self._count = 0
        self._extremes = _Extremes()
        self.rounds = 0
        self.stride = 1

    def append(
        self,
        line: bytes,
        round_: int | None,
        *,
        look: bool = False,
        metrics: Mapping[str, int | float] | None = None,
    ) -> None:
        """Keep one line; ``round_`` counts the generations from 0, and is None outside of them.

        ``look`` is true if the line holds a census or births. ``metrics`` are the numbers in the
        line.
        """
        self._count += 1
        self.rounds = max(self.rounds, 0 if round_ is None else round_ + 1)
        kept = round_ is None or look or round_ % self.stride == 0
        self._extremes.note(metrics or {}, self._count, b"" if kept else line)
        if kept:
            self._keep(line, _NO_GENERATION if round_ is None else round_, look, self._count)
        if len(self) > self._limit or self._lines.raw_bytes > self._most_bytes:
            self.thin(self._most_bytes // 2)

    def recent(self, count: int) -> Iterator[bytes]:
        """Yield the lines outside of generations, and the last ``count`` lines of the run."""
        first = max(len(self) - count, 0)
        for index in range(len(self)):
            if index >= first or self._rounds[index] == _NO_GENERATION:
                yield self._lines[index]
        self._lines.forget_unpacked()

    def __iter__(self) -> Iterator[bytes]:
        """Yield all lines in order, with those of extremes at their places."""
        extremes = sorted(self._extremes.lines().items(), reverse=True)
        for index, serial in enumerate(self._serials):
            while extremes and extremes[-1][0] < serial:
                yield extremes.pop()[1]
            yield self._lines[index]
        yield from (line for _, line in reversed(extremes))
        self._lines.forget_unpacked()

    def __len__(self) -> int:
        return len(self._serials)

    @property
    def held_bytes(self) -> int:
        """The bytes of memory that hold the kept lines."""
        return self._lines.held_bytes + 17 * len(self)

    def thin(self, most_bytes: int) -> None:
        """Drop every second generation, repeatedly, until at most ``most_bytes`` remain."""
        if len(self) <= self._limit and self._lines.raw_bytes <= most_bytes:
            return
        kept: list[int] = list(range(len(self)))
        while len(kept) > self._limit or self._bytes_of(kept) > most_bytes:
            fewer = self._halved(kept, 2 * self.stride)
            if len(fewer) == len(kept):  # a few snapshots of many megabytes
                break
            kept, self.stride = fewer, 2 * self.stride
        self._rebuild(kept)

    def _halved(self, kept: list[int], stride: int) -> list[int]:
        """Return what remains at this ``stride``; too many looks or moments are thinned as well."""
        most = len(kept) // 4
        looked = dict.fromkeys(self._rounds[i] for i in kept if self._looks[i])
        looks = set(_some([r for r in looked if r != _NO_GENERATION], most))
        moments = set(_some([i for i in kept if self._rounds[i] == _NO_GENERATION], most))

        def stays(index: int) -> bool:
            round_ = self._rounds[index]
            if round_ == _NO_GENERATION:
                return index in moments
            if self._looks[index]:
                return round_ in looks
            return round_ % stride == 0

        return [index for index in kept if stays(index)]

    def _bytes_of(self, kept: Iterable[int]) -> int:
        return sum(self._lines.size_of(index) for index in kept)

    def _keep(self, line: bytes, round_: int, look: bool, serial: int) -> None:
        """Keep a line. Its serial is stored last: a line with a serial is complete."""
        count = len(self._serials)
        self._lines.cut(count)
        del self._rounds[count:]
        del self._looks[count:]
        self._lines.append(line)
        self._rounds.append(round_)
        self._looks.append(look)
        self._serials.append(serial)

    def _rebuild(self, kept: list[int]) -> None:
        lines, rounds, looks, serials = self._lines, self._rounds, self._looks, self._serials
        wanted = self._extremes.serials()
        held = set(kept)
        for index, serial in enumerate(serials):
            if serial in wanted and index not in held:
                self._extremes.hold(serial, lines[index])
        new = History()
        for index in kept:
            new._keep(lines[index], rounds[index], bool(looks[index]), serials[index])
        # No interrupt comes between plain assignments.
        self._lines, self._rounds = new._lines, new._rounds
        self._looks, self._serials = new._looks, new._serials


class _Extremes:
    """The snapshots with the highest and the lowest numbers, and lines that are kept only here."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, bool], tuple[int | float, int]] = {}
        self._lines: dict[int, bytes] = {}

    def note(self, metrics: Mapping[str, int | float], serial: int, line: bytes) -> None:
        """Record the numbers of a snapshot; ``line`` is empty if the line is kept elsewhere."""
        news = [key for key in _KEYS if self._is_news(key, metrics)]
        for name, highest in news:
            self._found[name, highest] = (metrics[name], serial)
        if not news:
            return
        wanted = self.serials()
        self._lines = {number: text for number, text in self._lines.items() if number in wanted}
        if line:
            self._lines[serial] = line

    def _is_news(self, key: tuple[str, bool], metrics: Mapping[str, int | float]) -> bool:
        name, highest = key
        value, known = metrics.get(name), self._found.get(key)
        if value is None or known is None:
            return value is not None
        return value > known[0] if highest else value < known[0]

    def hold(self, serial: int, line: bytes) -> None:
        """Keep the line of an extreme that is no longer kept elsewhere."""
        self._lines[serial] = line

    def serials(self) -> set[int]:
        """Return the serial numbers of the snapshots with extremes."""
        return {serial for _, serial in self._found.values()}

    def lines(self) -> dict[int, bytes]:
        """Return the lines that are kept here, by serial number."""
        return self._lines


_KEYS = [(name, True) for name in HIGHEST] + [(name, False) for name in LOWEST]


def _some(items: list[int], most: int) -> list[int]:
    """Return all items or, if there are too many, the first few and every second of the rest."""
    return items if len(items) <= most else items[:_FIRST] + items[_FIRST::2]


class _PackedLines:
    """Lines in order, found by index; the newest are uncompressed, the others compressed.

    The compressed lines are in one buffer: one object per block would look like the program's.
    """

    def __init__(self) -> None:
        self.raw_bytes = 0
        self._packed = bytearray()
        self._block_ends = array("Q")
        self._open = bytearray()
        # The block of each line, and where the line ends in it. A line begins where the previous
        # one ends.
        self._block_of = array("L")
        self._ends = array("L")
        self._unpacked: tuple[int, bytes] = (-1, b"")

    def cut(self, count: int) -> None:
        """Keep the first ``count`` lines, and drop what an interrupt left of another line."""
        del self._block_of[count:]
        del self._ends[count:]
        packed = not count or self._block_of[-1] < len(self._block_ends)
        del self._open[0 if packed else self._ends[-1] :]

    def append(self, line: bytes) -> None:
        """Keep a line as the last one."""
        self._open += line
        self.raw_bytes += len(line)
        self._block_of.append(len(self._block_ends))
        self._ends.append(len(self._open))
        if len(self._open) >= _RAW_BLOCK:
            self._pack()

    def _pack(self) -> None:
        """Compress the open lines, after dropping what an interrupt left of another block."""
        del self._packed[self._block_start(len(self._block_ends)) :]
        self._packed += zlib.compress(self._open, _ZLIB_LEVEL)
        self._block_ends.append(len(self._packed))
        self._open = bytearray()

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, number: int) -> bytes:
        return self._text(self._block_of[number])[self._start(number) : self._ends[number]]

    def size_of(self, number: int) -> int:
        """Return the bytes of a line."""
        return self._ends[number] - self._start(number)

    def _start(self, number: int) -> int:
        inside = number > 0 and self._block_of[number - 1] == self._block_of[number]
        return self._ends[number - 1] if inside else 0

    @property
    def held_bytes(self) -> int:
        """The bytes of memory that hold the lines."""
        arrays = (len(self._ends) * self._ends.itemsize) * 2
        return len(self._packed) + len(self._open) + len(self._unpacked[1]) + arrays

    def forget_unpacked(self) -> None:
        """Free the block that was decompressed last."""
        self._unpacked = (-1, b"")

    def _text(self, block: int) -> bytes:
        if block == len(self._block_ends):
            return bytes(self._open)
        if self._unpacked[0] != block:
            self._unpacked = (block, zlib.decompress(self._packed_block(block)))
        return self._unpacked[1]

    def _packed_block(self, block: int) -> bytearray:
        return self._packed[self._block_start(block) : self._block_ends[block]]

    def _block_start(self, block: int) -> int:
        return self._block_ends[block - 1] if block else 0
