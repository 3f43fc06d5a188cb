"""Draws a leak trace with objgraph.

The recorded run has the names of the hops but not the objects. So each hop is represented by an
object of a type with the same name, which is held in the same way.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from leakguard.errors import UsageError, install
from leakguard.model import Finding, Hop, Report

_LINE = re.compile(r"(?P<label>.+?)  \((?P<type>.+)\)")  # the form of a hop in a leak trace


def draw_chain(report: Report, file: Path) -> None:
    """Draw the trace of the first finding that has one; the suffix of ``file`` is the format.

    Raises:
        UsageError: no finding has a trace, or objgraph or graphviz is missing.
    """
    trace = next(filter(None, (_trace(report, f) for f in report.findings)), ())
    if not trace:
        raise UsageError("no finding of this run has a leak trace to draw; record it with out=")
    try:
        import objgraph
    except ImportError:
        raise UsageError(f"objgraph draws the trace and is missing: {install('graph')}") from None
    if shutil.which("dot") is None:
        raise UsageError("graphviz draws the trace and is missing: install its `dot` command")
    chain = _stand_ins(trace)
    suspects = {id(item) for item, hop in zip(chain, trace, strict=True) if hop.suspect}
    drawn = io.StringIO()
    objgraph.show_chain(
        chain,
        backrefs=False,
        output=drawn,
        highlight=lambda item: id(item) in suspects,
        extra_info=lambda item: _label(item, chain, trace),
        shortnames=False,
    )
    _convert(drawn.getvalue(), file)


def _convert(dot: str, file: Path) -> None:
    kind = file.suffix.lstrip(".") or "svg"
    done = subprocess.run(
        ["dot", f"-T{kind}", "-o", str(file)], input=dot, text=True, capture_output=True
    )
    if done.returncode:
        reason = done.stderr.strip().splitlines()
        raise UsageError(f"cannot draw {file}: {reason[0] if reason else 'dot failed'}")


def _trace(report: Report, finding: Finding) -> tuple[Hop, ...]:
    """Return the path from a root to a leaking object, as far as the run recorded it.

    If a container holds the leaking object inside of its entries, the object is added as last hop.
    """
    snapshots = reversed(report.run.snapshots)
    held = (h.trace for s in snapshots for h in s.holders if h.path == finding.held_by)
    told = (found for line in finding.path if (found := _LINE.fullmatch(line)))
    trace = next(held, ()) or tuple(Hop(line["label"], line["type"]) for line in told)
    if not trace or finding.type is None or finding.kind == "cycles":
        return trace
    if trace[-1].type == finding.type:
        return (*trace[:-1], replace(trace[-1], suspect=True))
    return (*trace, Hop("leaks", finding.type, suspect=True))


def _label(item: object, chain: list[object], trace: tuple[Hop, ...]) -> str:
    return next(hop.label for known, hop in zip(chain, trace, strict=True) if known is item)


def _stand_ins(trace: tuple[Hop, ...]) -> list[object]:
    """Return one object per hop; each holds the next."""
    chain: list[object] = []
    for hop in reversed(trace):
        module, _, name = hop.type.rpartition(".")
        members = {
            "__module__": module or "builtins",
            "__slots__": ("holds",),  # a slot is a direct reference in every version of Python
            "__repr__": lambda self: "",
        }
        stand_in = type(name, (), members)()
        if chain:
            stand_in.holds = chain[0]
        chain.insert(0, stand_in)
    return chain
