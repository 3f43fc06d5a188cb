"""Whether the cheap numbers of a run reach new maxima, which makes a generation worth a look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

_Metrics = Mapping[str, "int | float"]

# Generations without a new maximum after which the next one is news. Chosen: what happens every few
# generations is a period of the program, not news.
_QUIET = 8


def _in_use(metrics: _Metrics) -> float | None:
    """Return the bytes in use in the C allocator and in Python's own together."""
    known = [metrics[name] for name in ("heap_in_use", "python_in_use") if name in metrics]
    return sum(known) if known else None


# Bytes by which memory in use must exceed its maximum. Chosen: caches of the interpreter and the
# guard's own notes move by less.
_BYTES = 65_536
# Bytes of anonymous RSS: it moves by whole arenas, of 1 MiB in CPython 3.10 and later.
_ARENA = 1_048_576
# Blocks of Python's allocator: those bytes at 128 bytes per block. Chosen.
_BLOCKS = _BYTES // 128
# The numbers that are followed, and the least increase of each. For handles, one more counts.
_NUMBERS: tuple[tuple[str, Callable[[_Metrics], float | None], float], ...] = (
    ("memory in use", _in_use, _BYTES),
    ("rss_anonymous", lambda m: m.get("rss_anonymous"), _ARENA),
    ("python_blocks", lambda m: m.get("python_blocks"), _BLOCKS),
    ("gpu_allocated", lambda m: m.get("gpu_allocated"), _BYTES),
    ("threads", lambda m: m.get("threads"), 1),
    ("open_files", lambda m: m.get("open_files"), 1),
    ("children", lambda m: m.get("children"), 1),
)
# Use only the changes between generations that were not inspected, once there are this many: the
# guard's own memory then drops out. Chosen: half of the generations inspected in a row.
_CALM = 6


@dataclass(slots=True)
class _Course:
    """A number at the first and the latest generation's end, and its largest fall in between."""

    first: float
    latest: float
    deepest: float = 0.0
    _calm: int = 0
    _calmly: float = 0.0

    def follow(self, value: float, looked: bool) -> None:
        """Take the number at the next generation's end, inspected or not."""
        change = value - self.latest
        if not looked:
            self._calm, self._calmly = self._calm + 1, self._calmly + change
        self.latest, self.deepest = value, max(self.deepest, -change)

    @property
    def gained(self) -> float:
        """Its gain, without the guard's own memory once enough generations were not inspected."""
        return self._calmly if self._calm >= _CALM else self.latest - self.first


@dataclass(slots=True)
class Heights:
    """Follows the cheap numbers from one generation's end to the next.

    Only new maxima count: moves within known bounds are no news. Small rises add up until together
    they reach a new maximum.

    Attributes:
        quiet: generations since any number reached a new maximum.
    """

    _tops: dict[str, float] = field(default_factory=dict)
    _courses: dict[str, _Course] = field(default_factory=dict)
    quiet: int = 0

    def note(self, metrics: _Metrics, *, looked: bool = False) -> bool:
        """Take the numbers of one generation's end; return whether a rise begins here.

        A rise begins if a new maximum follows many generations without one. ``looked`` says that
        the heap was inspected since the last end: what the guard remembers from that is no gain.
        """
        before, self.quiet = self.quiet, self.quiet + 1
        for name, read, step in _NUMBERS:
            value = read(metrics)
            if value is None:
                continue
            if name in self._courses:
                self._courses[name].follow(value, looked)
            else:
                self._courses[name] = _Course(value, value)
            top = self._tops.setdefault(name, value)
            if value >= top + step:
                self._tops[name], self.quiet = value, 0
        return self.quiet == 0 and before >= _QUIET

    def has_let_go(self, metrics: _Metrics) -> bool:
        """Return whether most of some number's gain has been freed since the last generation's end.

        A fall no deeper than earlier ones is the program's habit, and not the end of a loop.
        """
        for name, read, step in _NUMBERS:
            value = read(metrics)
            if value is None or name not in self._courses:
                continue
            course = self._courses[name]
            fallen = course.latest - value
            if course.gained >= step and fallen > max(course.gained / 2, course.deepest):
                return True
        return False
