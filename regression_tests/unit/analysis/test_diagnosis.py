"""What is called a leak and what is not, on runs told as stories."""

from __future__ import annotations

import pytest

from leakguard import diagnose
from leakguard.model import Gauge, RunInfo
from leakguard.testing import RunStory, State

GB = 1e9
HEALTHY = (8.52, 10.23, 11.89, 13.45, 14.23, 14.89, 15.12)
LEAKING = (8.52, 15.34, 22.67)
WATCH = {"TradingEnvironment": (2, 2), "DDPGAgent": (16, 17)}


def series_story(rss, environments, baseline=4.23):
    story = RunStory(watch=WATCH)
    story.baseline(State({"rss": baseline * GB}, {"TradingEnvironment": 2, "DDPGAgent": 16}))
    for size, count in zip(rss, environments, strict=True):
        counts = {"TradingEnvironment": count, "DDPGAgent": 17}
        story.generation(evaluate_population=State({"rss": size * GB}, counts))
    return story.run()


def test_filling_buffer_of_the_specification_is_not_a_leak():
    report = diagnose(series_story(HEALTHY, [2] * 7))
    assert report.verdict == "stable"
    assert report.findings == ()
    assert [c.pattern for c in report.cleared] == ["filling"]


def test_leak_of_the_specification_is_named_with_phase_counts_and_start():
    report = diagnose(series_story(LEAKING, [2, 18, 34], baseline=4.23))
    (finding,) = report.findings
    assert report.verdict == finding.verdict == "leak"
    assert finding.type == "TradingEnvironment"
    assert finding.phase == "evaluate_population"
    assert finding.counts == (2, 2, 18, 34)
    assert finding.count_per_generation == 16
    assert finding.bytes_per_generation == pytest.approx(7.1 * GB, rel=0.05)
    assert finding.label == "Gen 3: After evaluate_population"


def test_leak_that_shows_in_the_first_generation_started_there():
    report = diagnose(series_story(LEAKING, [18, 34, 50]))
    (finding,) = report.findings
    assert finding.started_at == 1
    assert finding.counts == (2, 18, 34, 50)


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_young_run_of_a_filling_buffer_is_neither_accused_nor_cleared(length):
    report = diagnose(series_story(HEALTHY[:length], [2] * length))
    assert report.verdict == "inconclusive"
    assert report.findings == ()
    assert report.limits[0]


def test_rss_alone_is_one_witness_and_no_leak():
    story = RunStory()
    story.baseline(State({"rss": 1 * GB}))
    for generation in range(1, 9):
        story.generation(train=State({"rss": (1 + 0.5 * generation) * GB}))
    report = diagnose(story.run())
    (finding,) = report.findings
    assert (finding.verdict, finding.kind) == ("suspect", "memory")
    assert finding.phase == "train"


def test_heap_in_use_and_rss_together_are_a_leak_without_objects():
    story = RunStory()
    for generation in range(1, 9):
        size = (1 + 0.5 * generation) * GB
        story.generation(train=State({"rss": size, "heap_in_use": size / 2}, {"list": 100}))
    (finding,) = diagnose(story.run()).findings
    assert (finding.verdict, finding.kind) == ("leak", "native")


def test_count_without_any_memory_measure_is_a_suspect():
    story = RunStory()
    for generation in range(1, 9):
        story.generation(train=State({"rss": 1 * GB}, {"app.Job": 5 * generation}))
    (finding,) = diagnose(story.run()).findings
    assert (finding.verdict, finding.type) == ("suspect", "app.Job")


def test_growth_is_blamed_on_the_phase_that_adds_it_not_on_those_that_carry_it():
    story = RunStory(watch={"Agent": None})
    story.baseline(State({"rss": 1 * GB}, {"Agent": 17}))
    rss, agents = 1.0, 17
    for _ in range(6):
        evaluate = State({"rss": rss * GB}, {"Agent": agents})
        rss, agents = rss + 0.3, agents + 16
        evolve = State({"rss": rss * GB}, {"Agent": agents})
        story.generation(evaluate=evaluate, evolve=evolve, checkpoint=evolve)
    report = diagnose(story.run())
    (finding,) = report.findings
    assert finding.phase == "evolve"
    assert finding.counts[:3] == (17, 33, 49)
    assert report.phase_growth["evolve"] == pytest.approx(0.3 * GB)
    assert report.phase_growth["evaluate"] == pytest.approx(0)


def test_two_leaks_in_two_phases_are_two_findings():
    story = RunStory(watch={"Env": (2, 2), "Agent": (17, 17)})
    story.baseline(State({"rss": 1 * GB}, {"Env": 2, "Agent": 17}))
    for n in range(1, 7):
        story.generation(
            evaluate=State({"rss": (1 + n * 0.3 - 0.1) * GB}, {"Env": 2 + 16 * n, "Agent": n + 16}),
            evolve=State({"rss": (1 + n * 0.3) * GB}, {"Env": 2 + 16 * n, "Agent": n + 17}),
        )
    findings = diagnose(story.run()).findings
    assert {(f.type, f.phase) for f in findings} == {("Env", "evaluate"), ("Agent", "evolve")}
    assert all(f.verdict == "leak" for f in findings)


def test_classes_that_grow_together_are_one_finding_named_after_the_watched_one():
    story = RunStory(watch={"Env": (2, 2)})
    for n in range(1, 7):
        counts = {"Env": 2 + 16 * n, "dict": 1000 + 160 * n, "numpy.ndarray": 16 * n}
        story.generation(evaluate=State({"rss": (1 + n) * GB}, counts))
    (finding,) = diagnose(story.run()).findings
    assert finding.type == "Env"
    assert "numpy.ndarray" in finding.reason


def test_object_counts_that_jitter_are_silent():
    story = RunStory()
    jitter = [0, 3, 1, 4, 2, 5, 3, 4]
    for n in jitter:
        story.generation(train=State({"rss": 1 * GB}, {"dict": 10_000 + n, "str": 5_000 + 2 * n}))
    report = diagnose(story.run())
    assert (report.verdict, report.findings) == ("stable", ())


def test_step_of_the_first_optimizer_update_is_not_a_leak():
    story = RunStory()
    for size in [1.0, 1.0, 2.65, 2.65, 2.65, 2.65, 2.65, 2.65]:
        state = State({"rss": size * GB, "heap_in_use": size * 0.9 * GB}, {"torch.Tensor": 99})
        story.generation(train=state)
    assert diagnose(story.run()).verdict == "stable"


def test_gauge_below_its_capacity_clears_the_memory_it_takes():
    story = RunStory()
    for n in range(1, 7):
        size = (1 + 0.2 * n) * GB
        story.generation(
            evaluate=State(
                {"rss": size, "heap_in_use": size},
                {"numpy.ndarray": 10},
                {"numpy.ndarray": int(size)},
                gauges={"replay_buffer": Gauge(2_000 * n, 50_000)},
            )
        )
    report = diagnose(story.run())
    assert report.findings == ()
    assert {c.metric for c in report.cleared} == {"replay_buffer", "heap_in_use"}


def test_list_that_a_gauge_reports_is_filling_and_another_one_is_not():
    def run(added):
        story = RunStory()
        for n in range(1, 9):
            counts = {"app.Transition": added * n}
            gauges = {"buffer": Gauge(100 * n, 2_000)}
            story.generation(collect=State({"rss": 1 * GB, "python_blocks": n}, counts, {}, gauges))
        return diagnose(story.run())

    assert run(100).findings == ()
    assert [f.type for f in run(16).findings] == ["app.Transition"]


def test_native_growth_is_not_excused_by_a_buffer_that_fills():
    story = RunStory()
    for n in range(1, 9):
        size = (1 + 0.2 * n) * GB
        story.generation(
            evaluate=State(
                {"rss": size, "heap_in_use": size},
                {"numpy.ndarray": 10},
                {"numpy.ndarray": 10_000},
                gauges={"replay_buffer": Gauge(2_000 * n, 50_000)},
            )
        )
    (finding,) = diagnose(story.run()).findings
    assert (finding.kind, finding.verdict) == ("native", "leak")


def test_array_that_is_extended_in_place_is_named_by_its_bytes():
    story = RunStory()
    for n in range(1, 9):
        size = (1 + 0.2 * n) * GB
        counts, sizes = {"numpy.ndarray": 10, "list": 5}, {"numpy.ndarray": int(size), "list": 99}
        story.generation(evaluate=State({"rss": size, "heap_in_use": size}, counts, sizes))
    (finding,) = diagnose(story.run()).findings
    assert (finding.type, finding.verdict) == ("numpy.ndarray", "leak")


def test_gauge_without_a_capacity_that_grows_is_a_queue_to_suspect():
    story = RunStory()
    for n in range(1, 9):
        story.generation(
            checkpoint=State({"rss": 1 * GB}, gauges={"uploads pending": Gauge(18 * n)})
        )
    (finding,) = diagnose(story.run()).findings
    assert (finding.kind, finding.verdict) == ("queue", "suspect")


def test_gpu_memory_that_grows_is_a_leak_and_a_growing_cache_is_not():
    leaking, caching = RunStory(), RunStory()
    for n in range(1, 9):
        rss, used = 1 * GB, 0.5 * GB
        grown = {"rss": rss, "gpu_allocated": used * n, "gpu_reserved": used * n + 0.1 * GB}
        leaking.generation(train=State(grown))
        caching.generation(
            train=State({"rss": rss, "gpu_allocated": used, "gpu_reserved": used * n})
        )
    (finding,) = diagnose(leaking.run()).findings
    assert (finding.kind, finding.verdict, finding.phase) == ("gpu", "leak", "train")
    assert diagnose(caching.run()).findings == ()


@pytest.mark.parametrize(
    ("metric", "kind"), [("threads", "threads"), ("open_files", "files"), ("children", "children")]
)
def test_resource_that_grows_each_generation_is_a_leak(metric, kind):
    story = RunStory()
    for n in range(1, 9):
        story.generation(
            save=State({"rss": 1 * GB, metric: 10}), load=State({"rss": 1 * GB, metric: 10 + 2 * n})
        )
    kinds = [(f.kind, f.verdict) for f in diagnose(story.run()).findings]
    assert kinds == [(kind, "leak")]


def test_resource_that_is_reused_is_silent():
    story = RunStory()
    for n in range(1, 9):
        story.generation(save=State({"rss": 1 * GB, "threads": 4 + n % 2, "open_files": 10}))
    assert diagnose(story.run()).findings == ()


def test_ignored_types_are_not_reported():
    story = RunStory(watch={"Env": (2, 2)}, info=RunInfo(ignore=("Env",)))
    for n in range(1, 7):
        story.generation(evaluate=State({"rss": 1 * GB}, {"Env": 2 + 16 * n}))
    assert diagnose(story.run()).findings == ()


def test_same_defect_has_the_same_fingerprint_in_another_run():
    first = diagnose(series_story(LEAKING, [18, 34, 50])).findings[0]
    second = diagnose(series_story((9.0, 11.0, 13.0), [19, 36, 53])).findings[0]
    assert first.fingerprint == second.fingerprint


def test_run_without_generations_says_what_is_missing():
    story = RunStory()
    story.baseline(State({"rss": 1 * GB}))
    report = diagnose(story.run())
    assert report.verdict == "inconclusive"
    assert "0 generations recorded" in report.headline


def test_a_run_whose_allocator_rises_is_not_called_stable_for_what_a_look_left():
    in_pools = [650, 653, 663, 673, 706, 1083, 731, 742, 752, 762, 772, 779]  # two looks amid it
    story = RunStory()
    for number, pooled in enumerate(in_pools):
        metrics = {"heap_in_use": 126_872_000 + 122_000 * number, "python_in_use": pooled * 1_000}
        story.generation(train=State(metrics, {"bytes": 1}))
    report = diagnose(story.run())
    assert report.verdict == "inconclusive"
    assert "may still level off" in report.headline
