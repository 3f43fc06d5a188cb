"""Tracks whether the cheap numbers reach new maxima, which makes a generation worth a look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

_Metrics = Mapping[str, "int | float"]

# A rise begins if a new maximum follows at least this many generations without one. Chosen: maxima
# that come every few generations belong to a period of the program.
_QUIET = 8


def _in_use(metrics: _Metrics) -> float | None:
    """Return the bytes in use in both allocators, without those of the guard's own history."""
    known = [metrics[name] for name in ("heap_in_use", "python_in_use") if name in metrics]
    return sum(known) - metrics.get("own_memory", 0) if known else None


# The least increase of memory in use above its maximum, in bytes. Chosen: caches of the interpreter
# and the guard's own notes change by less.
_BYTES = 65_536


def anonymous(metrics: _Metrics) -> float | None:
    """Return the bytes of anonymous RSS, without what the record of births takes of it."""
    value = metrics.get("rss_anonymous")
    return None if value is None else value - metrics.get("own_births", 0)


#: The least increase of anonymous RSS above its maximum, in bytes: one arena. Anonymous RSS changes
#: by whole arenas of Python's allocator. An arena has 1 MiB in CPython 3.10 and later.
ARENA = 1_048_576
# The least increase in the number of blocks of Python's allocator: ``_BYTES`` in blocks of 128
# bytes, which is 512 blocks. Chosen.
_BLOCKS = _BYTES // 128
# The numbers that are followed, and the least increase of each. For handles, an increase by one
# counts.
_NUMBERS: tuple[tuple[str, Callable[[_Metrics], float | None], float], ...] = (
    ("memory in use", _in_use, _BYTES),
    ("rss_anonymous", anonymous, ARENA),
    ("python_blocks", lambda m: m.get("python_blocks"), _BLOCKS),
    ("gpu_allocated", lambda m: m.get("gpu_allocated"), _BYTES),
    ("threads", lambda m: m.get("threads"), 1),
    ("open_files", lambda m: m.get("open_files"), 1),
    ("children", lambda m: m.get("children"), 1),
)
# The guard keeps memory from each look, which is no gain of the program. So the gain of a number
# counts only what changed in "calm" generations, those without a look, once there are at least this
# many. Chosen: half of ``policy.MEASURED_FIRST``, the 12 generations that are all measured.
_CALM = 6


@dataclass(slots=True)
class _Course:
    """A number at the end of the first and the latest generation, and its largest fall since."""

    first: float
    latest: float
    deepest: float = 0.0
    _calm: int = 0
    _calmly: float = 0.0

    def follow(self, value: float, looked: bool) -> None:
        """Record the number at the next generation's end, with or without a look."""
        change = value - self.latest
        if not looked:
            self._calm, self._calmly = self._calm + 1, self._calmly + change
        self.latest, self.deepest = value, max(self.deepest, -change)

    @property
    def gained(self) -> float:
        """The gain since the start, without the guard's own memory once that is known."""
        return self._calmly if self._calm >= _CALM else self.latest - self.first


@dataclass(slots=True)
class Heights:
    """Follows the cheap numbers from one generation's end to the next.

    Only new maxima count: changes within known bounds are no news. Small rises add up until they
    reach a new maximum together.

    Attributes:
        quiet: generations since any number reached a new maximum.
    """

    _tops: dict[str, float] = field(default_factory=dict)
    _courses: dict[str, _Course] = field(default_factory=dict)
    quiet: int = 0

    def note(self, metrics: _Metrics, *, looked: bool = False) -> bool:
        """Record the numbers at a generation's end; return whether a rise begins here.

        A rise begins if a new maximum follows many generations without one. ``looked`` means that a
        look was taken since the last end: what the guard remembers from a look is no gain.
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
        """Return whether most of some number's gain was freed since the last generation's end.

        A fall no deeper than earlier falls is normal for the program, and not the end of a loop.
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
