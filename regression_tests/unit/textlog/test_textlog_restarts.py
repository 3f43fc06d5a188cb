"""Two runs one after the other in the same file are two runs."""

from __future__ import annotations

from textlog_stories import LEAK, LEAK_SERIES, baseline, leak_log, moment, series

from leakguard.model import Snapshot
from leakguard.model.units import GB
from leakguard.render.log_block import snapshot_block


def blocks(*snapshots: Snapshot) -> str:
    return "".join(snapshot_block(snapshot) + "\n" for snapshot in snapshots)


def rounds(first: int, last: int) -> list[Snapshot]:
    return [moment(n, 8 * GB + n * GB, 2) for n in range(first, last + 1)]


def test_new_baseline_begins_a_run(read_all):
    runs = read_all(leak_log() + leak_log())
    assert [run.part for run in runs] == [(1, 2), (2, 2)]
    assert [series(run) for run in runs] == [LEAK_SERIES, LEAK_SERIES]
    assert [s.serial for s in runs[1].snapshots] == [0, 1, 2, 3]


def test_resumed_run_goes_back_to_its_checkpoint(read_all):
    runs = read_all(blocks(*rounds(1, 10), *rounds(8, 12)))
    assert [run.generations for run in runs] == [tuple(range(1, 11)), tuple(range(8, 13))]


def test_resumed_run_takes_its_first_mark_with_it(read_all):
    start = Snapshot(0, "Trainer initialized", metrics={"rss": 4 * GB})
    runs = read_all(blocks(start, *rounds(1, 10), start, *rounds(8, 9)))
    assert [run.snapshots[0].label for run in runs] == ["Trainer initialized"] * 2
    assert [run.generations for run in runs] == [tuple(range(1, 11)), (8, 9)]


def test_run_from_later_and_then_from_the_start(read_all):
    runs = read_all(blocks(*rounds(8, 9), *rounds(1, 3)))
    assert [run.generations for run in runs] == [(8, 9), (1, 2, 3)]


def test_phase_of_the_last_generation_that_ends_late_is_no_restart(read):
    late = moment(1, 9 * GB, 2, phase="upload")
    run = read(blocks(*rounds(1, 2), late, *rounds(3, 4)))
    assert run.generations == (1, 2, 3, 4)


def test_phase_that_runs_twice_in_a_generation_is_no_restart(read):
    again = moment(2, 10 * GB + 50_000_000, 2)
    run = read(blocks(*rounds(1, 2), again, *rounds(3, 3)))
    assert [s.generation for s in run.snapshots] == [1, 2, 2, 3]


def test_mark_before_the_baseline_is_no_run(read):
    mark = Snapshot(0, "Data loaded", metrics={"rss": GB})
    run = read(blocks(mark, baseline(), *rounds(1, 2)))
    assert run.baseline is not None
    assert run.baseline.label == "Trainer initialized (baseline)"


def test_other_process_id_is_another_run(read_all):
    log = "".join(
        f"Jan  7 10:01:02 box python[{pid}]: {line}\n"
        for pid, text in ((501, leak_log()), (777, leak_log({4: LEAK[2], 5: LEAK[3]})))
        for line in text.splitlines()
    )
    assert [run.info.pid for run in read_all(log)] == [501, 777]


def test_ranks_restart_each_on_its_own(read_all):
    log = "".join(
        f"[rank{rank}]: {line}\n"
        for text in (leak_log(), leak_log())
        for rank in (0, 1)
        for line in text.splitlines()
    )
    runs = read_all(log)
    assert [(run.info.rank, run.part) for run in runs] == [
        (0, (1, 2)),
        (0, (2, 2)),
        (1, (1, 2)),
        (1, (2, 2)),
    ]
