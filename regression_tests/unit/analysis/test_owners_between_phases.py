"""A class that is made between phases is told before the arrays that come with each instance."""

from __future__ import annotations

from leakguard import diagnose
from leakguard.model import Run
from leakguard.testing import RunStory, State

MB = 1_000_000
ROUNDS = 20


def run(arrays: int, wrappers: int = 1) -> Run:
    """Tell a run whose phase is begun with a wrapper more, and ends with ``arrays`` more."""
    told = RunStory()
    told.baseline(State({"heap_in_use": 50 * MB}, {"app.Wrapper": 0, "numpy.ndarray": 5}))
    for n in range(1, ROUNDS + 1):
        state = State(
            {"heap_in_use": 50 * MB + n * 100_000},
            {"app.Wrapper": wrappers * n, "numpy.ndarray": 5 + arrays * n},
        )
        told.generation(reset=state)
    return told.run()


def test_types_that_come_together_are_one_finding_named_after_the_class():
    (finding,) = diagnose(run(arrays=1)).findings
    assert finding.type == "app.Wrapper"
