"""The report as JSON; its names and meanings are a stable public format, ``leakguard.report/1``.

``templates/report.schema.json`` describes the format. Unknown values are null; they are never
omitted.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from leakguard.model.balance import Balance
from leakguard.model.brink import Death
from leakguard.model.finding import Finding, Ignored
from leakguard.model.forecast import Forecast
from leakguard.model.holder import Proof
from leakguard.model.ledger import PARTS, Ledger
from leakguard.model.report import BaselineGrowth, Report
from leakguard.model.run import Run
from leakguard.render.outline import worst
from leakguard.render.run_facts import notes

if TYPE_CHECKING:
    from leakguard.render import Layout

SCHEMA = "leakguard.report/1"

# Direction marks and other invisible characters are escaped, because a terminal may show the file.
_INVISIBLE = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")

# The public format: the keys of each value, in this order.
_RUN = "name source started command pid rank python platform packages memory_limit"
_FINDING = (
    "fingerprint kind verdict pattern phase started_at type counts count_per_generation "
    "bytes_per_generation interval retained_bytes held_by held_by_unknown holder_name path "
    "created_at created_at_likely created_at_unknown created_stack kept_at confidence reason fix "
    "label ruled_out library forecast serial proof in_pools"
)
_LEVEL = "name within rounds bytes_per_round words"
_CLEARED = "metric pattern reason plateau until"
_LEDGER = "growth since until generations unknown"
_FORECAST = "rate used limit generation between seconds"
_EXPLAINED = "growth findings healthy rest daily"
_DEATH = "of_memory kind sentence generation holder share before"
_TREND = "label generation phase rss change"
_GROWTH = "baseline current rss_before rss_after"

Json = dict[str, Any]


def render(reports: Sequence[Report], layout: Layout) -> str:
    """Return the worst report; if there are several, also all of them under ``runs``."""
    document = report_value(worst(reports))
    if len(reports) > 1:
        document["runs"] = [report_value(report) for report in reports]
    return finite_json(document)


def finite_json(document: Json) -> str:
    """Return a document that every JSON reader accepts, with non-finite numbers as null."""
    text = json.dumps(_finite(document), indent=2, ensure_ascii=False, allow_nan=False)
    return _INVISIBLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def report_value(report: Report) -> Json:
    """Return the report as plain values, with the keys in their documented order."""
    value = {
        "schema": SCHEMA,
        "verdict": report.verdict,
        "headline": report.headline,
        "run": _run(report.run),
        "findings": [finding_value(finding) for finding in report.findings],
        "cleared": [fields(item, _CLEARED) for item in report.cleared],
        "ignored": [_ignored(item) for item in report.ignored],
        "ledger": _ledger(report.ledger),
        "forecast": _forecast(report.forecast),
        "coverage": report.coverage,
        "trend": [fields(row, _TREND) for row in report.trend],
        "growth": _baseline_growth(report.growth),
        "phase_growth": dict(report.phase_growth),
        "explained": _explained(report.balance),
        "limits": list(report.limits),
        "death": _death(report.death),
        "notes": list(notes(report.run)),
    }
    if report.processes:
        value["processes"] = [asdict(row) for row in report.processes]
        value["remarks"] = list(report.remarks)
    if report.beside:
        value["beside"] = [asdict(row) for row in report.beside]
    return value


def _run(run: Run) -> Json:
    return {
        **fields(run.info, _RUN),
        "part": list(run.part),
        "finished": run.finished,
        "snapshots": len(run.snapshots),
        "generations": run.generation_count,
        "phases": list(run.phases),
        "watch_seconds": run.watch_seconds,
    }


def fields(item: object, names: str) -> Json:
    """Return the named fields of a value with JSON types: lists for tuples, dicts for mappings."""
    values = {name: getattr(item, name) for name in names.split()}
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


def finding_value(finding: Finding) -> Json:
    """Return a finding as plain values, with the keys in their documented order."""
    return fields(finding, _FINDING) | {
        "forecast": _forecast(finding.forecast),
        "proof": _proof(finding.proof),
        "level": None if finding.level is None else fields(finding.level, _LEVEL),
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


def _ignored(item: Ignored) -> Json:
    return {
        "pattern": item.pattern,
        "reason": item.reason,
        "finding": finding_value(item.finding),
    }


def _ledger(ledger: Ledger | None) -> Json:
    if ledger is None:
        return dict.fromkeys((*PARTS, *_LEDGER.split()))
    return {**ledger.parts, **fields(ledger, _LEDGER)}


def _forecast(forecast: Forecast | None) -> Json | None:
    return None if forecast is None else fields(forecast, _FORECAST)


def _baseline_growth(growth: BaselineGrowth | None) -> Json | None:
    if growth is None:
        return None
    counts = [fields(change, "type before after") for change in growth.counts]
    return {**fields(growth, _GROWTH), "counts": counts}


def _explained(balance: Balance | None) -> Json | None:
    return None if balance is None else fields(balance, _EXPLAINED)


def _death(death: Death | None) -> Json | None:
    if death is None:
        return None
    ceiling = death.ceiling
    limit = None if ceiling is None else fields(ceiling, "kind used most")
    return fields(death, _DEATH) | {"limit": limit}


def _finite(value: Any) -> Any:
    """Return ``value`` without NaN, infinity and lone surrogates, which JSON readers reject."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_finite(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value
