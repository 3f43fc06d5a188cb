"""The pictures of a report as Vega-Lite specifications: data and marks, no drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leakguard.model.report import Report
from leakguard.render import outline
from leakguard.render.curves import (
    Band,
    Curve,
    axis,
    bands,
    start_of,
    unit,
    unit_of,
)
from leakguard.render.ledger import ledger_section, parts
from leakguard.render.text import clean

Spec = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Style:
    """How the pictures look: real colours in a file, names of CSS variables on a page.

    ``series`` colour the lines, ``phases`` the shading; both repeat when they run out.
    ``live`` pictures leave titles, legends and the choice of lines to the page around them.
    """

    ink: str
    grid: str
    alarm: str
    series: tuple[str, ...]
    phases: tuple[str, ...]
    font: str = "system-ui, sans-serif"
    width: int | str = 760
    live: bool = False


PRINTED = Style(
    ink="#24292f",
    grid="#d8dee4",
    alarm="#cf222e",
    series=("#0969da", "#1a7f37", "#9a6700", "#8250df", "#57606a", "#bf3989", "#bc4c00", "#0a7ea4"),
    phases=("#54aeff", "#ffb77c", "#4ac26b", "#d2a8ff", "#ff80c8", "#8b949e"),
    font="DejaVu Sans, sans-serif",
)


def memory_chart(report: Report, curves: Sequence[Curve], style: Style) -> Spec | None:
    """Return memory over time with the phases shaded; None when no memory was recorded."""
    if not curves:
        return None
    name, scale = unit(curves)
    shown = [curve.key for curve in curves if curve.shown]
    layers = [
        *_shading(bands(report.run), style),
        _lines(curves, scale, name, axis(report.run).title, style),
        _hover(curves, style),
        *_limit(report, curves, scale, style),
        *_onset(report, style),
    ]
    return {
        **_frame(style, f"Memory over time. {outline.verdict_line(report)}"),
        **({} if style.live else {"title": _title(report)}),
        "width": style.width,
        "height": 300,
        "data": {"values": _rows(curves, scale)},
        "params": [{"name": "shown", "value": shown}],
        "transform": [{"filter": "indexof(shown, datum.key) >= 0"}],
        "layer": layers,
        "resolve": {"scale": {"color": "independent"}},
    }


def count_chart(report: Report, curves: Sequence[Curve], style: Style) -> Spec | None:
    """Return a small picture for each count, one below the other; None when there is no count."""
    if not curves:
        return None
    shown = [curve.key for curve in curves if curve.shown] or [curves[0].key]
    x = {
        "field": "x",
        "type": "quantitative",
        "title": axis(report.run).title,
        "scale": {"nice": False},
        "axis": {"grid": False},
    }
    whole = all(point.y == int(point.y) for curve in curves for point in curve.points)
    # Half an object is no tick.
    steps = {"labelExpr": "datum.value % 1 ? '' : format(datum.value, ',')"} if whole else {}
    frame = _frame(style, "Live objects, gauges and resources over time")
    # Pictures below one another cannot be fitted to a width as a whole; the page scales them.
    del frame["autosize"]
    return {
        **frame,
        "data": {"values": _rows(curves, 1)},
        "params": [{"name": "shown", "value": shown}],
        "transform": [{"filter": "indexof(shown, datum.key) >= 0"}],
        "facet": {"row": {"field": "series", "type": "nominal", "title": None,
                          "sort": [curve.title for curve in curves],
                          "header": {"labelAngle": 0, "labelAlign": "left", "labelAnchor": "start",
                                     "labelOrient": "top", "labelColor": style.ink,
                                     "labelFontSize": 12, "labelFontWeight": "bold"}}},
        "spec": {
            "width": 860 if style.width == "container" else style.width,
            "height": 70,
            "layer": [
                {"mark": {"type": "line", "interpolate": "step-after", "color": style.series[0],
                          "strokeWidth": 2, "aria": False},
                 "encoding": {"x": x, "y": {"field": "y", "type": "quantitative", "title": None,
                                            "axis": {"tickCount": 3, **steps}}}},
                {"mark": {"type": "rule", "strokeDash": [4, 4], "color": style.alarm,
                          "aria": False},
                 "encoding": {"y": {"field": "ceiling", "type": "quantitative",
                                    "aggregate": "max"}}},
                {"mark": {"type": "point", "filled": True, "size": 50, "opacity": 0,
                          "color": style.series[0], "aria": False, "tooltip": _TOOLTIP},
                 "encoding": {"x": x, "y": {"field": "y", "type": "quantitative"}}},
            ],
        },
        "resolve": {"scale": {"y": "independent"}},
    }  # fmt: skip


def ledger_chart(report: Report, style: Style) -> Spec | None:
    """Return where the growth of RSS went, a stacked bar for each generation that was sized.

    What shrank is stacked below zero.
    """
    ledgers = report.ledger_history or tuple(filter(None, [report.ledger]))
    if not ledgers:
        return None
    names = [part.title for part in parts(ledgers[-1])]
    names += [p.title for one in ledgers for p in parts(one) if p.title not in names]
    names = list(dict.fromkeys(names))
    name, scale = unit_of(max(abs(part.bytes) for one in ledgers for part in parts(one)))
    values = [
        {
            "at": clean(one.until) if one.generation is None else one.generation,
            "part": part.title,
            "text": part.text,
            "size": round(part.bytes / scale, 5),
            "order": names.index(part.title),
        }
        for one in ledgers
        for part in parts(one)
    ]
    return {
        **_frame(style, ledger_section(report).title),
        "width": style.width,
        "height": 220,
        "data": {"values": values},
        "mark": {"type": "bar", "aria": False},
        "encoding": {
            "x": {"field": "at", "type": "ordinal", "title": "generation",
                  "axis": {"labelAngle": 0, "labelOverlap": True}},
            "y": {"field": "size", "type": "quantitative", "stack": "zero",
                  "title": f"{name} since the baseline"},
            "color": {"field": "part", "type": "nominal", "sort": names,
                      "scale": {"domain": names, "range": _repeat(style.series, len(names))},
                      "legend": {"orient": "bottom", "title": None, "columns": 3,
                                 "labelLimit": 300}},
            "order": {"field": "order"},
            "tooltip": [{"field": "at", "title": "Generation"}, {"field": "part", "title": "Part"},
                        {"field": "text", "title": "Bytes"}],
        },
    }  # fmt: skip


# The nearest point is found with an invisible mark whose datum is the point, not the point's row.
_TOOLTIP = {"expr": "datum.datum ? datum.datum.tip : datum.tip"}


def _frame(style: Style, description: str) -> Spec:
    text = {"labelColor": style.ink, "titleColor": style.ink}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": description,
        "background": None if style.live else "white",
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": {
            "font": style.font,
            "view": {"stroke": None},
            "axis": {**text, "gridColor": style.grid, "domainColor": style.grid,
                     "tickColor": style.grid, "labelFontSize": 11, "titleFontSize": 11,
                     "titleFontWeight": "normal"},
            "legend": {**text, "labelFontSize": 11},
            "title": {"color": style.ink, "subtitleColor": style.ink, "anchor": "start"},
        },
    }  # fmt: skip


def _title(report: Report) -> Spec:
    from textwrap import wrap

    return {
        "text": wrap(outline.verdict_line(report), 95),
        "subtitle": outline.title(report),
        "offset": 12,
    }


def _rows(curves: Sequence[Curve], scale: int) -> list[Mapping[str, object]]:
    return [
        {"x": round(p.x, 4), "y": round(p.y / scale, 5), "key": curve.key, "series": curve.title,
         "tip": f"{p.label}\n{curve.title}: {p.text}",
         **({} if curve.ceiling is None else {"ceiling": curve.ceiling})}
        for curve in curves
        for p in curve.points
    ]  # fmt: skip


def _shading(stretches: Sequence[Band], style: Style) -> list[Spec]:
    phases = list(dict.fromkeys(band.phase for band in stretches))
    if not phases:
        return []
    layer = {
        "data": {"values": [{"a": b.start, "b": b.stop, "phase": b.phase} for b in stretches]},
        "mark": {"type": "rect", "opacity": 0.16, "aria": False, "tooltip": None},
        "encoding": {
            "x": {"field": "a", "type": "quantitative"},
            "x2": {"field": "b"},
            "color": {"field": "phase", "type": "nominal", "sort": phases,
                      "scale": {"domain": phases, "range": _repeat(style.phases, len(phases))},
                      "legend": {"title": None, "orient": "bottom", "symbolOpacity": 0.5,
                                 "labelLimit": 220}},
        },
    }  # fmt: skip
    return [layer]


def _lines(curves: Sequence[Curve], scale: int, unit: str, x_title: str, style: Style) -> Spec:
    return {
        "mark": {"type": "line", "strokeWidth": 2, "aria": False},
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "title": x_title,
                  "scale": {"nice": False}, "axis": {"grid": False}},
            "y": {"field": "y", "type": "quantitative", "title": unit},
            "color": _series_color(curves, style),
        },
    }  # fmt: skip


def _hover(curves: Sequence[Curve], style: Style) -> Spec:
    return {
        "params": [{"name": "hover", "select": {"type": "point", "on": "pointerover",
                                                "nearest": True, "clear": "pointerout"}}],
        "mark": {"type": "point", "filled": True, "size": 60, "aria": False, "tooltip": _TOOLTIP},
        "encoding": {
            "x": {"field": "x", "type": "quantitative"},
            "y": {"field": "y", "type": "quantitative"},
            "color": {**_series_color(curves, style), "legend": None},
            "opacity": {"condition": {"param": "hover", "empty": False, "value": 1}, "value": 0},
        },
    }  # fmt: skip


def _series_color(curves: Sequence[Curve], style: Style) -> Spec:
    titles = [curve.title for curve in curves]
    shown = [curve.title for curve in curves if curve.shown]
    legend = None if style.live else {"title": None, "orient": "top", "values": shown,
                                      "labelLimit": 220}  # fmt: skip
    return {
        "field": "series",
        "type": "nominal",
        "scale": {"domain": titles, "range": _repeat(style.series, len(titles))},
        "legend": legend,
    }


def _limit(report: Report, curves: Sequence[Curve], scale: int, style: Style) -> list[Spec]:
    """Return the memory limit as a line, where the run came near enough for it to be of use."""
    limit = report.run.info.memory_limit
    highest = max((p.y for curve in curves if curve.shown for p in curve.points), default=0.0)
    if not limit or limit > 2 * highest:
        return []
    data = {"values": [{"y": limit / scale, "text": "memory limit"}]}
    y = {"field": "y", "type": "quantitative"}
    return [
        {"data": data, "mark": {"type": "rule", "color": style.alarm, "strokeDash": [6, 4],
                                "aria": False}, "encoding": {"y": y}},
        {"data": data, "mark": {"type": "text", "color": style.alarm, "align": "left", "dy": -6,
                                "x": 4, "aria": False},
         "encoding": {"y": y, "text": {"field": "text"}}},
    ]  # fmt: skip


def _onset(report: Report, style: Style) -> list[Spec]:
    """Return where the gravest finding began, as a line across."""
    since = report.findings[0].started_at if report.findings else None
    x = None if since is None else start_of(report.run, since)
    if x is None:
        return []
    data = {"values": [{"at": x, "text": f"grows since generation {since}"}]}
    at = {"field": "at", "type": "quantitative"}
    return [
        {"data": data, "mark": {"type": "rule", "color": style.alarm, "strokeWidth": 1.5,
                                "aria": False}, "encoding": {"x": at}},
        {"data": data, "mark": {"type": "text", "color": style.alarm, "align": "left", "dx": 5,
                                "y": 10, "aria": False},
         "encoding": {"x": at, "text": {"field": "text"}}},
    ]  # fmt: skip


def _repeat(colors: Sequence[str], count: int) -> list[str]:
    return [colors[i % len(colors)] for i in range(count)]
