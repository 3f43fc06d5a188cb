"""What a whole test run found out: how budgets were kept, and which tests left most behind."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from leakguard.capture import heap
from leakguard.capture.allocator import allocator_memory
from leakguard.capture.probe import measure
from leakguard.capture.process import process_memory
from leakguard.capture.resources import open_files
from leakguard.integrations.pytest_plugin.outcome import Outcome
from leakguard.model import TypeCount
from leakguard.model.units import format_change
from leakguard.render.text import clean

_PROBES = (("process", process_memory), ("allocator", allocator_memory), ("files", open_files))
_KEPT = ("heap_in_use", "threads", "open_files")
_MOST_TESTS = 10
_MOST_TYPES = 3
_NOTABLE_BYTES = 100_000


class Left(TypedDict):
    """What was there after a test and not before it; bytes are of live objects."""

    test: str
    bytes: int
    resources: dict[str, int]
    types: list[str]


@dataclass(slots=True)
class Session:
    """Collects plain values, in this process or from workers, and words them once."""

    outcomes: list[Outcome] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    _before: tuple[dict[str, TypeCount], dict[str, int | float]] | None = None

    def add(self, outcomes: Iterable[Outcome], left: Left | None) -> None:
        """Take what one test found out."""
        self.outcomes.extend(outcomes)
        if left is not None:
            self.left.append(left)

    def left_by(self, test: str) -> Left | None:
        """Return what is there now and was not after the test before; None after the first."""
        gc.collect()
        types = dict(heap.census().census.types)
        metrics = measure(_PROBES).metrics
        before, self._before = self._before, (types, metrics)
        return None if before is None else _left(test, before[0], types, before[1], metrics)

    def lines(self) -> Iterator[str]:
        """Yield what a terminal shows at the end of the run."""
        if self.outcomes:
            yield _kept(self.outcomes)
        for outcome in self.outcomes:
            if not outcome["broken"] and outcome["verdict"] not in ("stable", "leak"):
                yield f"  {outcome['test']}: kept, {outcome['verdict']}: {outcome['headline']}"
        yield from self._most_left()
        if os.environ.get("GITHUB_ACTIONS") == "true":
            for outcome in self.outcomes:
                yield from outcome["annotations"].splitlines()

    def write(self, folder: Path | None) -> None:
        """Write ``index.md`` and ``outcomes.json`` about all tests."""
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "index.md").write_text(self._index(folder), encoding="utf-8")
        plain = {"schema": "leakguard.pytest/1", "budgets": self.outcomes, "left": self.left}
        text = json.dumps(plain, indent=1, ensure_ascii=False)
        (folder / "outcomes.json").write_text(f"{text}\n", encoding="utf-8")

    def _most_left(self) -> Iterator[str]:
        much = [one for one in self.left if one["bytes"] >= _NOTABLE_BYTES or one["resources"]]
        if self.left:
            yield f"leakguard: {len(much)} of {len(self.left)} tests left something behind"
        for one in sorted(much, key=lambda one: -one["bytes"])[:_MOST_TESTS]:
            yield f"  {format_change(one['bytes']):>9}  {one['test']}{_details(one)}"

    def _index(self, folder: Path) -> str:
        lines = ["# Memory budgets", "", _kept(self.outcomes) if self.outcomes else "None.", ""]
        if self.outcomes:
            lines += ["| Test | Outcome | Limit | Measured |", "|---|---|---|---|"]
        for outcome in self.outcomes:
            lines += _rows(outcome, folder)
        return "\n".join([*lines, ""])


def _left(
    test: str,
    before: dict[str, TypeCount],
    after: dict[str, TypeCount],
    then: dict[str, int | float],
    now: dict[str, int | float],
) -> Left:
    gained = {
        name: (entry.bytes or 0) - (before[name].bytes or 0 if name in before else 0)
        for name, entry in after.items()
    }
    largest = sorted(gained, key=lambda name: -gained[name])[:_MOST_TYPES]
    more = {name: int(now[name] - then[name]) for name in _KEPT[1:] if name in now and name in then}
    return Left(
        test=test,
        bytes=sum(gained.values()) - sum(e.bytes or 0 for n, e in before.items() if n not in after),
        resources={name: count for name, count in more.items() if count > 0},
        types=[f"{name} {format_change(gained[name])}" for name in largest if gained[name] > 0],
    )


def _details(one: Left) -> str:
    resources = [f"{count} {name.replace('_', ' ')}" for name, count in one["resources"].items()]
    parts = [*resources, *one["types"]]
    return f" ({', '.join(parts)})" if parts else ""


def _kept(outcomes: Sequence[Outcome]) -> str:
    broken = sum(bool(outcome["broken"]) for outcome in outcomes)
    longer = sum(not o["broken"] and o["done"] > o["asked"] for o in outcomes)
    took = f" ({longer} took more generations to be sure)" if longer else ""
    budgets = f"{len(outcomes)} memory budget{'' if len(outcomes) == 1 else 's'}"
    if broken:
        return f"leakguard: {broken} of {budgets} broken"
    return f"leakguard: {budgets} kept{took}"


def _rows(outcome: Outcome, folder: Path) -> Iterator[str]:
    name = _cell(outcome["test"])
    if outcome["folder"] is not None:
        place = os.path.relpath(outcome["folder"], folder)
        name = f"[{name}]({Path(place).as_posix()}/report.{'html' if outcome['broken'] else 'md'})"
    for subject, limit, fact, result in outcome["checks"]:
        mark = {"kept": "🟢", "broken": "🔴"}.get(result, "🔵")
        yield f"| {name} | {mark} {_cell(subject)} | {_cell(limit)} | {_cell(fact)} |"


def _cell(text: str) -> str:
    return clean(text).replace("|", "\\|").replace("<", "&lt;")
