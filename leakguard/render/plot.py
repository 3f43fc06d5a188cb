"""The positions of a chart's marks, for an SVG of any width.

Horizontal positions are percentages of the width; vertical positions are pixels. So letters keep
their size on a phone and on paper, and only the lines are stretched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from leakguard.model.units import GB, KB, MB, format_number
from leakguard.render.curves import GENERATION, Band, Curve, CurvePoint

# Heights in pixels: of the legend (``TOP``), of the x axis (``BOTTOM``), and of the area between
# both in a usual chart (``HEIGHT``) and in a small chart (``SMALL``).
TOP, BOTTOM, HEIGHT, SMALL = 26, 36, 150, 60
# The width, in its own units, of the SVG box in which lines are drawn. A browser stretches this box
# to the width of the chart (``preserveAspectRatio="none"``), so the unit is a thousandth of the
# width, whatever the width is.
BOX = 1000
# Margins in per cent of the width: on the left for the numbers of the y axis, on the right for half
# a dot.
_LEFT, _RIGHT = 11, 1.5
_NEAREST_POINTS = 0.6  # per cent of the width, between two triangles at least
_COLORS = 8
# A curve with more points than this has no dots, which cost bytes; its line shows all values.
# Chosen.
_MOST_DOTS = 150


@dataclass(frozen=True, slots=True)
class Dot:
    """A value with a tooltip; ``look`` is true if a look at the heap counted it."""

    x: float
    y: float
    tip: str
    look: bool


@dataclass(frozen=True, slots=True)
class PlottedLine:
    """A curve as the path of its line in the stretched box; ``color`` counts from 1."""

    title: str
    color: int
    path: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True, slots=True)
class Tick:
    """A number on an axis and its position: per cent for x, pixels for y."""

    at: float
    text: str
    anchor: str = "middle"


@dataclass(frozen=True, slots=True)
class Stretch:
    """A shaded part of the width, in units of the stretched box."""

    x: float
    width: float
    text: str


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart, ready to be drawn.

    Attributes:
        title: what screen readers say.
        height: pixels, with the legend and the axis.
        bottom: the pixel of the x axis.
        ceiling: the pixel of the highest expected value; None if there is none.
        looks: positions of the looks in per cent of the width.
        mark: the generation in which growth begins; None if unknown.
    """

    title: str
    height: int
    bottom: int
    lines: tuple[PlottedLine, ...]
    rows: tuple[Tick, ...]
    columns: tuple[Tick, ...]
    x_title: str
    shades: tuple[Stretch, ...] = ()
    looks: tuple[float, ...] = ()
    ceiling: float | None = None
    mark: Tick | None = None


@dataclass(frozen=True, slots=True)
class Scale:
    """The range of numbers on an axis."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """Return the position of a value in the range, 0 at the low end and 1 at the high end."""
        return (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5

    def percent(self, value: float) -> float:
        """Return the position of a value on the x axis, in per cent of the width."""
        return round(_LEFT + (100 - _LEFT - _RIGHT) * self.share(value), 2)


@dataclass(frozen=True, slots=True)
class CommonAxis:
    """What all charts of a run share: the x axis and its marks."""

    x: Scale
    x_title: str
    looks: tuple[float, ...] = ()
    bands: tuple[Band, ...] = ()
    since: float | None = None
    since_text: str = ""


def plot(curves: Sequence[Curve], frame: CommonAxis, title: str, small: bool = False) -> Plot:
    """Return the chart of one or more curves in the same unit; each has at least one point."""
    height = SMALL if small else HEIGHT
    bottom = TOP + height
    ceilings = [curve.ceiling for curve in curves if curve.ceiling is not None]
    y = _y_scale([p.y for curve in curves for p in curve.points], ceilings)
    unit = _unit(y.high) if curves[0].in_bytes else (1, "")

    def pixel(value: float) -> float:
        return round(bottom - height * y.share(value), 1)

    looked = set(frame.looks)
    return Plot(
        title=title,
        height=bottom + (BOTTOM if not small else BOTTOM - 14),
        bottom=bottom,
        lines=tuple(
            _line(curve, place % _COLORS + 1, frame.x, pixel, looked)
            for place, curve in enumerate(curves)
        ),
        rows=tuple(
            Tick(pixel(value), _amount(value, *unit))
            for value in ticks(y.low, y.high, 2 if small else 4, whole=not curves[0].in_bytes)
        ),
        columns=tuple(_column(value, frame) for value in ticks(frame.x.low, frame.x.high, 8)),
        x_title="" if small else frame.x_title,
        shades=tuple(_stretch(band, frame.x) for band in frame.bands),
        looks=() if small else tuple(_apart([frame.x.percent(x) for x in frame.looks])),
        ceiling=pixel(min(ceilings)) if ceilings else None,
        mark=_start_tick(frame),
    )


def ticks(low: float, high: float, most: int, whole: bool = True) -> list[float]:
    """Return about ``most`` round numbers in a range: multiples of 1, 2 or 5 times 10^n."""
    if not high > low:
        return [low]
    rough = (high - low) / most
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * 0.999)
    step = max(step, 1) if whole else step
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [n * step for n in range(first, last + 1)]


def _y_scale(values: Sequence[float], ceilings: Sequence[float]) -> Scale:
    """Return a scale from 0, or from near the lowest value if growth would be invisible."""
    low, high = min(values), max([*values, *ceilings])
    if low < 0 or high <= 0:
        return Scale(low, high)
    if low < high / 2:
        return Scale(0, high * 1.05)
    # The axis spans at least 1 % of the highest value, so that noise does not look like growth.
    span = max(high - low, high / 100, 1)
    return Scale(max(high - span * 1.25, 0), high + span * 0.05)


def _line(
    curve: Curve, color: int, x: Scale, pixel: Callable[[float], float], looked: set[float]
) -> PlottedLine:
    steps = [f"{BOX * x.percent(p.x) / 100:.1f} {pixel(p.y):.1f}" for p in curve.points]
    dots = curve.points if len(curve.points) <= _MOST_DOTS else ()
    return PlottedLine(curve.title, color, f"M{'L'.join(steps)}", tuple(
        Dot(x.percent(p.x), pixel(p.y), _tip(curve, p), p.x in looked) for p in dots
    ))  # fmt: skip


def _tip(curve: Curve, point: CurvePoint) -> str:
    return f"{point.label}: {curve.title} {point.text}"


def _column(value: float, frame: CommonAxis) -> Tick:
    begins = value <= frame.x.low and frame.x_title == GENERATION
    at, share = frame.x.percent(value), frame.x.share(value)
    return Tick(
        at, "start" if begins else format_number(value), "end" if share > 0.98 else "middle"
    )


def _apart(places: Sequence[float]) -> Iterator[float]:
    """Yield the positions that do not overlap the one before: a long run has thousands of looks."""
    latest = -_NEAREST_POINTS
    for place in places:
        if place - latest >= _NEAREST_POINTS:
            latest = place
            yield place


def _stretch(band: Band, x: Scale) -> Stretch:
    start, stop = (BOX * x.percent(at) / 100 for at in (band.start, band.stop))
    return Stretch(round(start, 1), round(stop - start, 1), band.phase)


def _start_tick(frame: CommonAxis) -> Tick | None:
    if frame.since is None:
        return None
    anchor = "start" if frame.x.share(frame.since) < 0.5 else "end"
    return Tick(frame.x.percent(frame.since), frame.since_text, anchor)


def _unit(largest: float) -> tuple[int, str]:
    sizes = ((GB, " GB"), (MB, " MB"), (KB, " kB"))
    return next(((scale, name) for scale, name in sizes if largest >= scale), (1, " B"))


def _amount(value: float, scale: int, unit: str) -> str:
    return f"{value / scale:,.6g}{unit}" if unit and value else format_number(value)


def whole_range(values: Iterable[float]) -> Scale:
    """Return the scale of all values, at least one generation wide."""
    known = list(values) or [0.0]
    return Scale(min(known), max(max(known), min(known) + 1))
