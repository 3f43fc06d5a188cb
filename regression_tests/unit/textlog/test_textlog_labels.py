"""What labels say."""

from __future__ import annotations

import pytest

from leakguard.store.textlog.moment import parse_label


@pytest.mark.parametrize(
    ("label", "place"),
    [
        ("Gen 1: After evaluate_population", ("phase", "evaluate_population", 1)),
        ("Gen 12: evaluate_population", ("phase", "evaluate_population", 12)),
        ("Gen 3: After evaluate/rollout", ("phase", "evaluate/rollout", 3)),
        ("Generation 7: After checkpoint", ("phase", "checkpoint", 7)),
        ("Gen 3: End of generation", ("generation", None, 3)),
        ("Gen 3: After end of generation 3", ("generation", None, 3)),
        ("Gen 3: After", ("phase", "After", 3)),
        ("Gen 3: ending_rollout", ("phase", "ending_rollout", 3)),
        (
            "Trainer initialized (baseline)",
            ("baseline", "Trainer initialized (baseline)", None),
        ),
        ("After warm-up", ("mark", "After warm-up", None)),
        ("Genome loaded", ("mark", "Genome loaded", None)),
        ("End of run", ("end", "End of run", None)),
    ],
)
def test_label_names_moment_phase_and_generation(label, place):
    assert parse_label(label) == place
