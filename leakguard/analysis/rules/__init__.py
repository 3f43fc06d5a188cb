"""The rules, in the order in which they look at a run; each finds one kind of defect.

A rule takes the case and what the rules before it found, and returns what it adds: findings, and
things that grew for a good reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from leakguard.analysis.case import Case
from leakguard.analysis.rules.collector import collector
from leakguard.analysis.rules.copies import copies
from leakguard.analysis.rules.cycles import cycles
from leakguard.analysis.rules.fragmentation import fragmentation
from leakguard.analysis.rules.gauges import gauges
from leakguard.analysis.rules.gpu import gpu
from leakguard.analysis.rules.holders import holders
from leakguard.analysis.rules.instances import instances
from leakguard.analysis.rules.mapped import mapped
from leakguard.analysis.rules.memory import memory
from leakguard.analysis.rules.peak import peak
from leakguard.analysis.rules.promises import promises
from leakguard.analysis.rules.resources import resources
from leakguard.analysis.rules.shared_memory import shared_memory
from leakguard.model import Cleared, Finding

Found: TypeAlias = "Finding | Cleared"
Rule: TypeAlias = Callable[[Case, Sequence[Found]], "list[Finding | Cleared]"]

RULES: tuple[Rule, ...] = (
    gauges,
    cycles,
    instances,
    holders,
    promises,
    memory,
    gpu,
    resources,
    shared_memory,
    mapped,
    fragmentation,
    collector,
    peak,
    copies,
)
