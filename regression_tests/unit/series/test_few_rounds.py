"""Short series, one promise each: sizes in GB or MB, counts of objects."""

from __future__ import annotations

import pytest

from leakguard.analysis.series import judge_series
from leakguard.analysis.words.series import why_it_grows

HEALTHY = [8.52, 10.23, 11.89, 13.45, 14.23, 14.89, 15.12]
LEAK = [8.52, 15.34, 22.67]


def test_three_rounds_of_an_environment_leak_grow():
    verdict = judge_series(LEAK)
    assert (verdict.shape, verdict.growing, verdict.started) == ("growing", "yes", 1)
    assert verdict.rate == pytest.approx(7.075)
    assert verdict.interval[0] <= verdict.rate <= verdict.interval[1]


def test_three_rounds_are_less_sure_than_seven():
    three = judge_series(LEAK)
    seven = judge_series([8.52, 15.34, 22.67, 29.7, 36.9, 43.8, 51.1])
    assert three.confidence < 0.7 < seven.confidence


def test_filling_replay_buffer_is_not_a_leak():
    verdict = judge_series(HEALTHY)
    assert (verdict.shape, verdict.growing) == ("filling", "no")
    assert verdict.plateau is not None
    assert 15.12 <= verdict.plateau.value <= 17.5


@pytest.mark.parametrize("rounds", [3, 4, 5, 6])
def test_start_of_a_filling_buffer_cannot_be_told_from_a_leak(rounds: int):
    verdict = judge_series(HEALTHY[:rounds])
    assert (verdict.shape, verdict.growing) == ("filling", "cannot tell")
    assert verdict.more_rounds is not None


@pytest.mark.parametrize("counts", [[2, 18, 34], [17, 33, 49]])
def test_same_number_of_new_objects_in_each_of_three_rounds_is_a_leak(counts: list[int]):
    verdict = judge_series(counts, integer=True)
    assert (verdict.shape, verdict.growing, verdict.rate) == ("growing", "yes", 16.0)
    assert [why.seen for why in verdict.reason] == ["exact line"]


def test_one_more_object_and_then_no_more_is_not_a_leak():
    verdict = judge_series([16, 17, 17, 17], integer=True)
    assert (verdict.shape, verdict.growing) == ("step", "no")


def test_one_object_a_round_is_a_leak_after_six_rounds():
    assert judge_series([0, 1, 2, 3, 4, 5], integer=True).growing == "yes"


def test_one_object_a_round_for_four_rounds_may_be_chance():
    verdict = judge_series([0, 1, 2, 3], integer=True)
    assert (verdict.growing, verdict.more_rounds) == ("cannot tell", 3)


@pytest.mark.parametrize(
    "counts",
    [[100, 103, 103, 104, 109], [100, 103, 103, 104, 109, 111, 111, 115], [9, 8, 10, 9, 11, 10]],
)
def test_counts_of_a_cache_that_moves_unevenly_are_not_a_leak(counts: list[int]):
    assert judge_series(counts, integer=True).growing != "yes"


def test_uneven_growth_that_is_large_beside_its_spread_is_a_leak():
    assert judge_series([2, 16, 32, 47, 63, 80], integer=True).growing == "yes"


def test_figure_every_five_rounds_needs_three_increments():
    counts = [0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3]
    said = [judge_series(counts[:n], integer=True) for n in range(5, 16)]
    assert [verdict.growing for verdict in said[:-1]].count("yes") == 0
    assert said[5].growing == "cannot tell"
    assert (said[-1].growing, said[-1].started) == ("yes", 4)


def test_figure_every_round_is_a_leak():
    assert judge_series([0, 1, 2, 3, 4, 5, 6, 7], integer=True).growing == "yes"


def test_deque_that_fills_to_its_maxlen_and_stops_is_not_a_leak():
    verdict = judge_series([100, 200, 300, 300, 300, 300], integer=True)
    assert (verdict.shape, verdict.growing) == ("filling", "no")
    assert verdict.plateau is not None
    assert (verdict.plateau.value, verdict.plateau.round) == (300.0, 2)


def test_cycles_that_wait_for_the_collector_are_a_sawtooth():
    verdict = judge_series([16, 32, 48, 16, 32, 48, 64, 16], integer=True)
    assert (verdict.shape, verdict.growing) == ("sawtooth", "no")


def test_sawtooth_whose_floors_rise_is_not_cleared():
    verdict = judge_series([10, 40, 70, 20, 50, 80, 30, 60, 90, 40], integer=True)
    assert (verdict.shape, verdict.growing) == ("sawtooth", "cannot tell")


def test_peak_of_one_round_is_transient():
    verdict = judge_series([100.0, 101.0, 180.0, 100.5, 100.2])
    assert (verdict.shape, verdict.growing) == ("transient", "no")


def test_optimizer_state_of_the_first_update_is_a_step():
    verdict = judge_series([100.0, 285.0, 285.2, 284.9, 285.1, 285.0])
    assert (verdict.shape, verdict.growing) == ("step", "no")


def test_leak_behind_the_step_of_the_first_update_is_still_a_leak():
    verdict = judge_series([100.0, 285.0, 290.0, 295.0, 300.0, 305.2])
    assert (verdict.growing, verdict.started) == ("yes", 2)
    assert verdict.rate == pytest.approx(5.0, abs=0.1)


def test_slow_saturation_is_not_called_a_leak():
    verdict = judge_series([10.0 * (1.0 - 0.93**i) for i in range(9)])
    assert (verdict.shape, verdict.growing) == ("filling", "cannot tell")


def test_leak_under_a_warm_up_began_with_it():
    verdict = judge_series([880, 1400, 1598, 1796, 1994, 2192], integer=True)
    assert (verdict.growing, verdict.started, verdict.rate) == ("yes", 1, 198)


def test_leak_after_quiet_rounds_did_not_begin_before_them():
    verdict = judge_series([880, 1400, 1400, 1400, 1598, 1796, 1994, 2192], integer=True)
    assert (verdict.growing, verdict.started) == ("yes", 4)


def test_modules_imported_amid_a_leak_do_not_hide_it():
    verdict = judge_series([60, 120, 180, 8240, 8300, 8360, 8420, 8480, 8540], integer=True)
    assert (verdict.growing, verdict.started) == ("yes", 1)
    assert verdict.rate == pytest.approx(60)


def test_counts_that_grow_exactly_around_a_jump_are_a_leak():
    verdict = judge_series([100, 2100, 4100, 8272, 10272, 12272, 14272, 16272], integer=True)
    assert (verdict.growing, verdict.started, verdict.rate) == ("yes", 1, 2000)


def test_step_between_quiet_rounds_is_no_leak():
    verdict = judge_series([60, 61, 60, 8240, 8241, 8240, 8241, 8240, 8241], integer=True)
    assert verdict.growing == "no"


def test_saturation_that_is_nearly_over_is_cleared_with_its_plateau():
    verdict = judge_series([10.0 * (1.0 - 0.7**i) for i in range(9)])
    assert verdict.growing == "no"
    assert verdict.plateau is not None
    assert verdict.plateau.value == pytest.approx(10.0, rel=0.02)


def test_replay_buffer_that_starts_late_cannot_be_told_yet():
    assert judge_series([0.1, 0.1, 0.1, 0.1, 1.7, 3.4, 5.1]).growing == "cannot tell"


def test_steady_growth_below_a_known_capacity_is_filling():
    verdict = judge_series([0, 8000, 16000, 24000], integer=True, capacity=50_000)
    assert (verdict.shape, verdict.growing) == ("filling", "no")
    assert verdict.plateau is not None
    assert (verdict.plateau.value, verdict.plateau.round) == (50_000.0, 7)


def test_growth_past_its_capacity_is_a_leak():
    counts = [40_000, 48_000, 56_000, 64_000]
    assert judge_series(counts, integer=True, capacity=50_000).growing == "yes"


def test_leak_with_jitter_is_found_after_seven_rounds():
    verdict = judge_series([0.0, 5.1, 9.8, 15.2, 20.1, 24.9, 30.3])
    assert verdict.growing == "yes"
    assert verdict.interval[0] <= 5.0 <= verdict.interval[1]


def test_growth_within_the_noise_floor_is_flat():
    verdict = judge_series([1000.0, 1100.0, 1250.0, 1300.0], noise_floor=16_384.0)
    assert (verdict.shape, verdict.growing) == ("flat", "no")


def test_constant_series_is_flat():
    verdict = judge_series([5, 5, 5, 5], integer=True)
    assert (verdict.shape, verdict.growing, verdict.rate) == ("flat", "no", 0.0)


def test_series_that_falls_is_not_growing():
    verdict = judge_series([50.0, 40.0, 31.0, 20.0, 9.0])
    assert (verdict.shape, verdict.growing) == ("flat", "no")


@pytest.mark.parametrize("values", [[], [3.0], [3.0, 9.0]])
def test_fewer_than_three_rounds_cannot_tell(values: list[float]):
    verdict = judge_series(values)
    assert (verdict.growing, verdict.more_rounds) == ("cannot tell", 3 - len(values))


def test_undecided_growth_says_how_many_more_rounds_would_decide():
    values = [100.0, 104.0, 105.0, 110.0, 111.0]
    verdict = judge_series(values)
    assert verdict.growing == "cannot tell"
    assert verdict.more_rounds is not None
    assert verdict.detectable > verdict.rate


def test_memory_that_set_up_freed_does_not_hide_a_leak():
    verdict = judge_series([100.0, 60.0, 65.0, 70.0, 75.0, 80.0, 85.0, 90.0])
    assert (verdict.growing, verdict.started) == ("yes", 2)
    assert verdict.rate == pytest.approx(5.0)


def test_counts_that_double_are_a_leak():
    assert judge_series([1, 2, 4, 8, 16, 32, 64], integer=True).growing == "yes"


def test_leak_of_objects_that_starts_late_says_when():
    verdict = judge_series([2, 2, 2, 2, 18, 34, 50, 66], integer=True)
    assert (verdict.growing, verdict.started) == ("yes", 4)


def test_jump_in_the_last_round_is_left_open():
    verdict = judge_series([100.0, 100.5, 100.2, 100.1, 100.4, 150.0])
    assert (verdict.shape, verdict.growing) == ("step", "cannot tell")


def test_creep_behind_a_step_is_left_open():
    verdict = judge_series([500, 820, 822, 823, 824, 824.5, 825, 825.2])
    assert (verdict.growing, verdict.reason) == ("cannot tell", ())


def test_leak_behind_a_decaying_warm_up_is_never_cleared():
    values = [10.0 * t + 60.0 * (1.0 - 2.718 ** (-t / 2.0)) for t in range(13)]
    assert {judge_series(values[:n]).growing for n in range(5, 13)} <= {"cannot tell", "yes"}


def test_cache_of_a_hundred_keys_is_cleared_when_it_is_full():
    sizes = [30, 51, 65, 76, 83, 88, 92, 94, 96, 98, 99, 99, 100, 100, 100, 100, 100, 100]
    assert all(judge_series(sizes[:n], integer=True).growing != "yes" for n in range(3, 19))
    assert judge_series(sizes, integer=True).growing == "no"


def test_reason_is_told_in_the_unit_of_the_series():
    verdict = judge_series([8.52e9, 15.34e9, 22.67e9])
    told = why_it_grows(verdict.reason, "bytes")
    assert "about 7.1 GB per generation over 2 steps, from generation 1 on" in told


def test_what_lies_around_growth_is_told_first():
    verdict = judge_series([100.0, 285.0, 290.0, 295.0, 300.0, 305.2])
    told = why_it_grows(verdict.reason, "count")
    assert told.startswith("after a change of 185 in the first 1 samples, it grew by about 5 ")
