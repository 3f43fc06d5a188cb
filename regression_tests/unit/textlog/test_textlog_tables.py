"""Trend tables and growth blocks fill in what snapshots do not tell, and repeat nothing."""

from __future__ import annotations

from textlog_stories import LEAK, LEAK_SERIES, baseline, leak_log, moment, series

from leakguard.model import BaselineGrowth, CountChange, Finding, Snapshot, TrendRow, Watched
from leakguard.model.units import GB
from leakguard.render.log_block import growth_block, leak_block, snapshot_block, trend_block


def rows(*snapshots: Snapshot) -> list[TrendRow]:
    before = None
    out = []
    for s in snapshots:
        rss = int(s.metrics["rss"])
        out.append(
            TrendRow(s.label, s.generation, s.phase, rss, None if before is None else rss - before)
        )
        before = rss
    return out


MOMENTS = [baseline(), *(moment(n, rss, count) for n, (rss, count) in LEAK.items())]


def labels(run) -> list[str]:
    return [s.label for s in run.snapshots]


def test_tables_that_grow_with_each_generation_give_each_point_once(read):
    log = "".join(trend_block(rows(*MOMENTS[: n + 1])) + "\n" for n in range(1, 4))
    assert labels(read(log)) == [s.label for s in MOMENTS]


def test_tables_of_the_last_rows_only_give_each_point_once(read):
    log = "".join(
        trend_block(rows(MOMENTS[0], *MOMENTS[max(1, n - 1) : n + 1])) + "\n" for n in range(1, 4)
    )
    assert labels(read(log)) == [s.label for s in MOMENTS]


def test_table_tells_what_came_before_the_cut_start_of_a_log(read):
    tail = snapshot_block(MOMENTS[3]) + "\n" + trend_block(rows(*MOMENTS)) + "\n"
    run = read(tail)
    assert labels(run) == [s.label for s in MOMENTS]
    assert run.snapshots[3].watched["TradingEnvironment"].count == 34
    assert [s.metrics["rss"] for s in run.snapshots] == [v[0] for v in LEAK_SERIES.values()]


def test_table_tells_a_generation_whose_snapshot_was_filtered_out(read):
    log = "".join(snapshot_block(s) + "\n" for s in (MOMENTS[0], MOMENTS[1], MOMENTS[3]))
    assert labels(read(log + trend_block(rows(*MOMENTS)) + "\n")) == [s.label for s in MOMENTS]


def test_tables_of_two_runs_are_two_runs(read_all):
    def tables(first: int) -> str:
        moments = [baseline(first), *MOMENTS[1:]]
        return "".join(trend_block(rows(*moments[: n + 1])) + "\n" for n in range(1, 4))

    runs = read_all(tables(4_230_000_000) + tables(4_990_000_000))
    assert [run.baseline.metrics["rss"] for run in runs] == [4_230_000_000, 4_990_000_000]
    assert [len(run.snapshots) for run in runs] == [4, 4]


def test_growth_blocks_of_two_runs_are_two_runs(read_all):
    def growths(first: int) -> str:
        changes = [
            BaselineGrowth(s.label, m.label, first, int(m.metrics["rss"]))
            for s, m in zip([MOMENTS[0]] * 3, MOMENTS[1:], strict=True)
        ]
        return "".join(growth_block(change) + "\n" for change in changes)

    runs = read_all(growths(4_230_000_000) + growths(4_990_000_000))
    assert [run.baseline.metrics["rss"] for run in runs] == [4_230_000_000, 4_990_000_000]
    assert [run.generations for run in runs] == [(1, 2, 3), (1, 2, 3)]


def test_equal_marks_without_a_generation_are_points_of_their_own(read):
    marks = [Snapshot(0, "After epoch", metrics={"rss": 8 * GB + n}) for n in range(3)]
    assert len(read(trend_block(rows(baseline(), *marks)) + "\n").snapshots) == 4
    log = "".join(snapshot_block(s) + "\n" for s in (baseline(), *marks))
    assert len(read(log + trend_block(rows(baseline(), *marks)) + "\n").snapshots) == 4


def test_table_in_other_units(read):
    log = trend_block(rows(*MOMENTS)).replace("RAM (GB)", "RAM (GiB)")
    assert read(log + "\n").snapshots[1].metrics["rss"] == round(8.52 * 2**30)


def test_small_runs_keep_their_resolution(read):
    moments = [baseline(301_234_567), moment(1, 305_345_678, 2)]
    run = read(trend_block(rows(*moments)) + "\n")
    assert [s.metrics["rss"] for s in run.snapshots] == [301_230_000, 305_350_000]


def test_growth_fills_in_counts_that_snapshots_lack(read):
    growth = BaselineGrowth(
        MOMENTS[0].label,
        MOMENTS[3].label,
        4_230_000_000,
        22_670_000_000,
        (CountChange("TradingEnvironment", 2, 99), CountChange("DDPGAgent", 16, 17)),
    )
    run = read(leak_log() + growth_block(growth) + "\n")
    assert labels(run) == [s.label for s in MOMENTS]
    assert run.snapshots[0].watched == {"TradingEnvironment": Watched(2), "DDPGAgent": Watched(16)}
    assert run.snapshots[3].watched["DDPGAgent"] == Watched(17)
    assert run.snapshots[3].watched["TradingEnvironment"].count == 34


def test_count_that_disagrees_with_its_difference_is_left_out(read):
    growth = BaselineGrowth(
        "A (baseline)", "Gen 1: After b", GB, 2 * GB, (CountChange("Env", 2, 18),)
    )
    log = growth_block(growth).replace("(+16)", "(+15)")
    assert all(not s.watched for s in read(log + "\n").snapshots)


def test_diagnosis_in_a_log_repeats_its_snapshot(read):
    finding = Finding("f", "instances", "leak", "growing", "counts grow", type="TradingEnvironment")
    log = leak_log() + leak_block(finding, MOMENTS[2]) + "\n"
    assert series(read(log)) == LEAK_SERIES


def test_verdict_of_any_kind_repeats_its_snapshot(read):
    for heading in ("LEAK SUSPECTED:", "NOT DECIDED:", "NO LEAK"):
        log = leak_log() + heading + "\n- Phase: x\n" + snapshot_block(MOMENTS[1]) + "\n"
        assert series(read(log)) == LEAK_SERIES


def test_diagnosis_alone_tells_its_snapshot(read):
    finding = Finding("f", "instances", "leak", "growing", "counts grow", type="TradingEnvironment")
    (snapshot,) = read(leak_block(finding, MOMENTS[2]) + "\n").snapshots
    assert snapshot.watched["TradingEnvironment"].count == 18
