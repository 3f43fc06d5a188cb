"""Whether the cheap numbers of a run reach new heights: what makes a generation worth a look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

_Metrics = Mapping[str, "int | float"]

# Generations without a new height, after which the next one is news. Chosen: something that happens
# every few generations is a period of the program and no news.
_QUIET = 8


def _in_use(metrics: _Metrics) -> float | None:
    """Return what the C allocator and Python's own have in use together."""
    known = [metrics[name] for name in ("heap_in_use", "python_in_use") if name in metrics]
    return sum(known) if known else None


# Bytes that memory in use must gain for a new height. Chosen: caches of the interpreter and the
# guard's own notes move by less.
_BYTES = 65_536
# Bytes of anonymous RSS: it moves by whole arenas, of 1 MiB in CPython 3.10 and later.
_ARENA = 1_048_576
# Blocks of Python's allocator: as many as there are in those bytes at 128 bytes each. Chosen.
_BLOCKS = _BYTES // 128
# What is followed, and how much more of it is a new height; of handles, one more is one more.
_NUMBERS: tuple[tuple[str, Callable[[_Metrics], float | None], float], ...] = (
    ("memory in use", _in_use, _BYTES),
    ("rss_anonymous", lambda m: m.get("rss_anonymous"), _ARENA),
    ("python_blocks", lambda m: m.get("python_blocks"), _BLOCKS),
    ("gpu_allocated", lambda m: m.get("gpu_allocated"), _BYTES),
    ("threads", lambda m: m.get("threads"), 1),
    ("open_files", lambda m: m.get("open_files"), 1),
    ("children", lambda m: m.get("children"), 1),
)


@dataclass(slots=True)
class Heights:
    """Follows the cheap numbers from one generation's end to the next.

    Only new heights count: what goes up and down within known bounds is no news. Small rises add
    up until together they are one.

    Attributes:
        quiet: generations since the last new height of any number.
    """

    _tops: dict[str, float] = field(default_factory=dict)
    _courses: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    quiet: int = 0

    def note(self, metrics: _Metrics) -> bool:
        """Take the numbers of one generation's end; return whether a rise begins here.

        It does where a new height follows on many generations without any.
        """
        before, self.quiet = self.quiet, self.quiet + 1
        for name, read, step in _NUMBERS:
            value = read(metrics)
            if value is None:
                continue
            self._follow(name, value)
            top = self._tops.setdefault(name, value)
            if value >= top + step:
                self._tops[name], self.quiet = value, 0
        return self.quiet == 0 and before >= _QUIET

    def has_let_go(self, metrics: _Metrics) -> bool:
        """Return whether most of what some number gained is gone since the last generation's end.

        A fall as deep as one between two generations is the program's own way, and no such end.
        """
        for name, read, step in _NUMBERS:
            value = read(metrics)
            if value is None or name not in self._courses:
                continue
            first, latest, deepest = self._courses[name]
            gained, fallen = latest - first, latest - value
            if gained >= step and fallen > max(gained / 2, deepest):
                return True
        return False

    def _follow(self, name: str, value: float) -> None:
        """Keep the first and the latest value of a number, and its deepest fall between two."""
        first, latest, deepest = self._courses.get(name, (value, value, 0.0))
        self._courses[name] = (first, value, max(deepest, latest - value))
