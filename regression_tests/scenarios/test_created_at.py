"""Every planted leak is led back to the line that makes it; a healthy run is never traced."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import reference_trainer

SOURCES = Path(reference_trainer.__file__).parent


def line_of(file: str, text: str) -> str:
    """Return ``reference_trainer/file:N`` of the first line that holds a text."""
    lines = (SOURCES / file).read_text().splitlines()
    number = next(n for n, line in enumerate(lines, 1) if text in line)
    return f"reference_trainer/{file}:{number}"


@pytest.mark.parametrize(
    ("leak", "file", "line", "function"),
    [
        ("env-per-episode", "leaks.py", "env = self.trainer.task.new_env()", "environment"),
        pytest.param(
            *("old-population", "leaks.py", "replaced = [agent.clone()", "before_evolution"),
            marks=pytest.mark.heavy,
        ),
        ("loss-graph", "leaks.py", "return loss.unbind()", "_logged"),
    ],
)
def test_leak_is_led_back_to_the_line_that_makes_it(trained, leak, file, line, function):
    findings = trained(leak).report.findings
    created = [finding.created_at for finding in findings if finding.created_at]
    place, _, inside = created[0].partition(" in ")
    assert place == line_of(file, line)
    assert inside == function
    stack = next(finding.created_stack for finding in findings if finding.created_at)
    assert f"{place} in {inside}" in stack


def test_traced_generation_says_what_it_cost(trained):
    costs = [snapshot.cost for snapshot in trained("env-per-episode").run.snapshots]
    traced = [cost for cost in costs if cost.tier == 3]
    assert len(traced) == 1
    assert traced[0].slowdown > 0


def test_healthy_training_is_never_traced(trained):
    healthy = trained()
    assert max(snapshot.cost.tier for snapshot in healthy.run.snapshots) < 3
    assert not re.search(r"created_at", str(healthy.run.notes))
