"""The report as JSON: names and meanings are a public promise, ``leakguard.report/1``.

``templates/report.schema.json`` describes it. Unknown values are null, never left out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from leakguard.model.finding import Cleared, Finding
from leakguard.model.forecast import Forecast
from leakguard.model.holder import Proof
from leakguard.model.known_leak import Ignored
from leakguard.model.ledger import PARTS, Ledger
from leakguard.model.report import BaselineGrowth, Report, TrendRow
from leakguard.model.run import Run
from leakguard.render.outline import worst
from leakguard.render.run_facts import notes

if TYPE_CHECKING:
    from leakguard.render import Layout

SCHEMA = "leakguard.report/1"

# Direction marks and further control characters; the file may be shown in a terminal.
_INVISIBLE = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")

Json = dict[str, Any]


def render(reports: Sequence[Report], layout: Layout) -> str:
    """Return the gravest report; with several, all of them under ``runs``."""
    document = report_value(worst(reports))
    if len(reports) > 1:
        document["runs"] = [report_value(report) for report in reports]
    return finite_json(document)


def finite_json(document: Json) -> str:
    """Return a document as every JSON reader takes it, non-finite numbers as null."""
    text = json.dumps(_finite(document), indent=2, ensure_ascii=False, allow_nan=False)
    return _INVISIBLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def report_value(report: Report) -> Json:
    """Return the report as plain values, keys in their documented order."""
    value = {
        "schema": SCHEMA,
        "verdict": report.verdict,
        "headline": report.headline,
        "run": _run(report.run),
        "findings": [finding_value(finding) for finding in report.findings],
        "cleared": [_cleared(item) for item in report.cleared],
        "ignored": [_ignored(item) for item in report.ignored],
        "ledger": _ledger(report.ledger),
        "forecast": _forecast(report.forecast),
        "coverage": report.coverage,
        "trend": [_trend_row(row) for row in report.trend],
        "growth": _growth(report.growth),
        "phase_growth": dict(report.phase_growth),
        "limits": list(report.limits),
        "notes": list(notes(report.run)),
    }
    if report.processes:
        value["processes"] = [asdict(row) for row in report.processes]
        value["remarks"] = list(report.remarks)
    return value


def _run(run: Run) -> Json:
    info = run.info
    return {
        "name": info.name,
        "source": info.source,
        "started": info.started,
        "command": info.command,
        "pid": info.pid,
        "rank": info.rank,
        "python": info.python,
        "platform": info.platform,
        "packages": dict(info.packages),
        "memory_limit": info.memory_limit,
        "part": list(run.part),
        "finished": run.finished,
        "snapshots": len(run.snapshots),
        "generations": len(run.generations),
        "phases": list(run.phases),
        "watch_seconds": math.fsum(snapshot.cost.seconds for snapshot in run.snapshots),
    }


def finding_value(finding: Finding) -> Json:
    """Return a finding as plain values, keys in their documented order."""
    return {
        "fingerprint": finding.fingerprint,
        "kind": finding.kind,
        "verdict": finding.verdict,
        "pattern": finding.pattern,
        "phase": finding.phase,
        "started_at": finding.started_at,
        "type": finding.type,
        "counts": list(finding.counts),
        "count_per_generation": finding.count_per_generation,
        "bytes_per_generation": finding.bytes_per_generation,
        "interval": None if finding.interval is None else list(finding.interval),
        "retained_bytes": finding.retained_bytes,
        "held_by": finding.held_by,
        "path": list(finding.path),
        "created_at": finding.created_at,
        "created_at_unknown": finding.created_at_unknown,
        "created_stack": list(finding.created_stack),
        "confidence": finding.confidence,
        "reason": finding.reason,
        "fix": finding.fix,
        "label": finding.label,
        "ruled_out": list(finding.ruled_out),
        "library": finding.library,
        "forecast": _forecast(finding.forecast),
        "serial": finding.serial,
        "proof": _proof(finding.proof),
        "in_pools": finding.in_pools,
    }


def _proof(proof: Proof | None) -> Json | None:
    if proof is None:
        return None
    return {
        "held_by": proof.held_by,
        "told_bytes": proof.told,
        "released_bytes": proof.released,
        "refused": proof.refused,
    }


def _cleared(item: Cleared) -> Json:
    return {
        "metric": item.metric,
        "pattern": item.pattern,
        "reason": item.reason,
        "plateau": item.plateau,
        "until": item.until,
    }


def _ignored(item: Ignored) -> Json:
    return {"pattern": item.pattern, "finding": finding_value(item.finding)}


def _ledger(ledger: Ledger | None) -> Json:
    if ledger is None:
        return dict.fromkeys((*PARTS, "growth", "since", "until", "generations", "unknown"))
    return {
        **ledger.parts,
        "growth": ledger.growth,
        "since": ledger.since,
        "until": ledger.until,
        "generations": ledger.generations,
        "unknown": dict(ledger.unknown),
    }


def _forecast(forecast: Forecast | None) -> Json | None:
    if forecast is None:
        return None
    return {
        "rate": forecast.rate,
        "used": forecast.used,
        "limit": forecast.limit,
        "generation": forecast.generation,
        "between": None if forecast.between is None else list(forecast.between),
        "seconds": forecast.seconds,
    }


def _trend_row(row: TrendRow) -> Json:
    return {
        "label": row.label,
        "generation": row.generation,
        "phase": row.phase,
        "rss": row.rss,
        "change": row.change,
    }


def _growth(growth: BaselineGrowth | None) -> Json | None:
    if growth is None:
        return None
    return {
        "baseline": growth.baseline,
        "current": growth.current,
        "rss_before": growth.rss_before,
        "rss_after": growth.rss_after,
        "counts": [{"type": c.type, "before": c.before, "after": c.after} for c in growth.counts],
    }


def _finite(value: Any) -> Any:
    """Return ``value`` as every JSON reader takes it: no NaN, no infinity, no lone surrogate."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_finite(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value
