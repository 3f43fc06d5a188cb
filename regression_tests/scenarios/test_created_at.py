"""Every planted leak is led back to the line that makes it, and no run is traced for it."""

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
        # Nearly all of what a kept environment has is its market.
        ("env-per-episode", "leaks.py", "task.data_array = np.resize(", "_give_market"),
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


def test_leaking_training_is_not_traced_for_its_lines(trained):
    costs = [snapshot.cost for snapshot in trained("env-per-episode").run.snapshots]
    assert max(cost.tier for cost in costs) < 3


def test_healthy_training_is_never_traced(trained):
    healthy = trained()
    assert max(snapshot.cost.tier for snapshot in healthy.run.snapshots) < 3
    assert not re.search(r"created_at", str(healthy.run.notes))
