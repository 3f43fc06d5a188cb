"""A small part of the benchmark that looks for flaky outcomes; the whole of it runs for long."""

from __future__ import annotations

from regression_tests.benchmarks.plugin_outcomes.__main__ import GROUPS, expected, outcomes

CHOSEN = "test_instances_in_a_list or test_growth_after_a_warm_up or test_warm_up_of_three_rounds"


def test_known_tests_have_the_expected_outcomes():
    ran = list(outcomes(GROUPS[0], "alone", CHOSEN))
    assert len(ran) == 3
    assert {test: outcome for module, test, outcome in ran} == {
        test: expected(module) for module, test, _ in ran
    }
