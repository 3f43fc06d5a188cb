"""Constants of the analysis that are changed one at a time."""

from __future__ import annotations

import importlib
from importlib.util import module_from_spec

import leakguard.analysis
from leakguard.analysis import tolerance
from regression_tests.benchmarks import constants
from regression_tests.benchmarks.constants import Constant

MODULE = "leakguard.analysis.tolerance"


def test_each_number_with_a_name_is_found_with_its_value():
    found = {(c.module, c.name): c.value for c in constants.constants()}
    assert found[MODULE, "MAJORITY"] == tolerance.MAJORITY
    assert found["leakguard.analysis.series.explanations", "RISK"] == 0.004


def test_a_count_stays_a_whole_number_of_one_at_least():
    one, share = Constant(MODULE, "RECORDS", 1), Constant(MODULE, "MAJORITY", 0.5)
    assert (one.times(0.5), one.times(2.0), share.times(0.5)) == (1, 2, 0.25)


def test_a_module_is_loaded_with_the_other_value_and_all_that_follows_from_it():
    changed = Constant(MODULE, "BYTES_FLOOR", tolerance.BYTES_FLOOR)
    spec = constants._Finder(changed, 8.0).find_spec(MODULE, leakguard.analysis.__path__)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (module.BYTES_FLOOR, module.NOTABLE_BUFFER) == (8.0, 8.0)
    assert importlib.import_module(MODULE).BYTES_FLOOR == tolerance.BYTES_FLOOR != 8.0


def test_the_constant_that_decides_most_comes_first():
    idle, telling = Constant(MODULE, "IDLE", 1.0), Constant(MODULE, "TELLING", 2.0)
    now = [("stable",), ("leak", "a")]
    rows = [(idle, [now, now]), (telling, [[("leak",), ("leak", "a")], [("stable",), ("leak",)]])]
    lines = list(constants.table(rows, now))
    assert lines[-2:] == [
        "| tolerance.TELLING | 2 | 1 / 1 | 0 / 1 |",
        "| tolerance.IDLE | 1 | 0 / 0 | 0 / 0 |",
    ]
