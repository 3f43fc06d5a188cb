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
    ],
)
def test_leak_is_led_back_to_the_line_that_makes_it(trained, leak, file, line, function):
    finding = trained(leak).report.findings[0]
    place = f"{line_of(file, line)} in {function}"
    assert finding.created_at == place
    assert place in finding.created_stack


def test_graphs_are_led_back_to_their_losses_or_to_what_computed_them(trained):
    """A few losses of 80 bytes are sampled, or none, but many of what their graphs have saved."""
    finding = trained("loss-graph").report.findings[0]
    kept = f"{line_of('leaks.py', 'return loss.unbind()')} in _logged"
    computed = [frame for frame in finding.created_stack if frame.endswith(" in after_sample")]
    assert finding.created_at == kept or computed


def test_leaking_training_is_not_traced_for_its_lines(trained):
    costs = [snapshot.cost for snapshot in trained("env-per-episode").run.snapshots]
    assert max(cost.tier for cost in costs) < 3


def test_healthy_training_is_never_traced(trained):
    healthy = trained()
    assert max(snapshot.cost.tier for snapshot in healthy.run.snapshots) < 3
    assert not re.search(r"created_at", str(healthy.run.notes))
