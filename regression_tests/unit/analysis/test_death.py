"""How a run died, in words: of memory, killed, or not known; a healthy one is not accused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from leakguard.analysis import diagnose
from leakguard.analysis.death import death_of
from leakguard.model import Run, RunInfo, Snapshot
from leakguard.model.brink import Brink, Ceiling, Failure
from leakguard.model.holder import Holder
from leakguard.render import render

LIMIT = 1_000_000_000
HELD = Holder("__main__.history[*]", "bytes", 4_000, before=1_000, retained_bytes=610_000_000)


def brink(serial, seconds, share, *, look=False, kind="cgroup", holders=(HELD,), skipped=None):
    ceiling = Ceiling(kind, int(share * LIMIT), LIMIT)
    return Snapshot(
        serial, f"Memory at {share:.0%} of its limit", "mark", generation=412, seconds=seconds,
        brink=Brink(
            ceiling, 0.85 if look else None, holders if look else (), own=LIMIT, skipped=skipped
        ),
    )  # fmt: skip


def run_of(*snapshots, finished=False, is_over=True, failure=None):
    ends = [
        Snapshot(k, f"Gen {k}: End of generation", "generation", generation=k, seconds=float(k),
                 metrics={"rss": 1_000_000 * k})
        for k in range(1, 12)
    ]  # fmt: skip
    shots = tuple(replace(s, serial=20 + i) for i, s in enumerate(snapshots))
    return Run(
        RunInfo(source="jsonl", memory_limit=LIMIT), (*ends, *shots),
        finished=finished, is_over=is_over, failure=failure,
    )  # fmt: skip


def test_killed_at_the_limit_it_died_of_memory_and_the_holder_is_named():
    death = death_of(run_of(brink(1, 100.0, 0.86, look=True), brink(2, 102.0, 0.99)))

    assert death.of_memory
    assert death.sentence == (
        "died of memory in generation 412 (OOM kill, as far as can be told: 99 % of the 1.0 GB of "
        "its cgroup); 2.0 s before the last record, about 61 % of its memory was held by "
        "__main__.history[*], which grew from 1,000 to 4,000 entries"
    )


def test_killed_far_from_any_limit_it_was_killed_and_did_not_die_of_memory():
    death = death_of(run_of())

    assert death.of_memory is False
    assert death.sentence.startswith("killed or crashed in generation 12, far from a limit")
    assert "died of memory" not in death.sentence


def test_killed_below_the_limit_while_memory_stood_still_nothing_is_claimed():
    stood = brink(1, 100.0, 0.88, look=True)
    death = death_of(run_of(replace(stood, brink=replace(stood.brink, own=12_000_000))))

    assert death.of_memory is None
    assert "whether it died of memory is not known" in death.sentence


def test_one_record_counts_if_the_program_had_just_gained_what_was_left():
    fast = brink(1, 100.0, 0.86, look=True)
    slow = replace(fast, brink=replace(fast.brink, own=20_000_000))

    assert death_of(run_of(fast)).of_memory
    assert death_of(run_of(slow)).of_memory is None


def test_memory_that_rose_to_the_last_record_counts_from_85_per_cent():
    death = death_of(run_of(brink(1, 100.0, 0.86, look=True), brink(2, 100.5, 0.92)))

    assert death.of_memory


def test_memory_that_fell_since_the_record_counts_as_it_was_last():
    fell = Snapshot(0, "Gen 413: End of generation", "generation", generation=413, seconds=200.0,
                    metrics={"rss": LIMIT // 5})  # fmt: skip
    death = death_of(run_of(brink(1, 100.0, 0.99, look=True), fell))

    assert death.of_memory is False


@pytest.mark.parametrize("kind", ["cgroup high", "address space", "data"])
def test_limits_at_which_the_kernel_does_not_kill_are_no_cause_of_a_kill(kind):
    death = death_of(run_of(brink(1, 100.0, 0.99, look=True, kind=kind)))

    assert death.of_memory is None


def test_memory_error_is_a_death_of_memory_whatever_came_after():
    failed = run_of(brink(1, 3.0, 0.96, look=True, kind="address space"), finished=True,
                    failure=Failure("MemoryError"))  # fmt: skip
    death = death_of(failed)

    assert death.of_memory
    assert death.kind == "MemoryError"
    assert "(MemoryError, at 96 % of the 1.0 GB of address space" in death.sentence


def test_gpu_that_ran_out_is_named_by_its_exception():
    death = death_of(run_of(failure=Failure("torch.OutOfMemoryError", "CUDA out of memory")))

    assert death.sentence.startswith("died of memory in generation 12 (torch.OutOfMemoryError")
    assert death.sentence.endswith("there was no look near the limit")


def test_who_held_a_gpu_that_ran_out_is_told_by_what_was_allocated_there():
    told = brink(1, 11.0, 0.03, look=True, kind="gpu", holders=(replace(HELD, before=None),))
    assert told.brink is not None
    told = replace(told, brink=replace(told.brink, own=700_000_000))
    death = death_of(run_of(told, failure=Failure("torch.OutOfMemoryError", "GPU 0 has ...")))

    assert death.sentence == (
        "died of memory in generation 412 (torch.OutOfMemoryError, at 3 % of the 1.0 GB of its "
        "GPU); 0.0 s before the last record, about 87 % of its GPU memory was held by "
        "__main__.history[*]"
    )


def test_look_that_was_not_affordable_is_said_and_no_holder_is_invented():
    near = brink(1, 100.0, 0.99, look=True, holders=(), skipped="no look: only 182 kB were left")
    death = death_of(run_of(near))

    assert death.holder is None
    assert "who held it is not known: no look: only 182 kB were left" in death.sentence


def test_largest_holder_is_named_too_if_another_one_grew():
    large = Holder("__main__.table[*]", "bytes", 10, before=10, retained_bytes=700_000_000)
    grew = replace(HELD, retained_bytes=200_000_000)
    death = death_of(run_of(brink(1, 100.0, 0.99, look=True, holders=(grew, large))))

    assert death.holder == "__main__.history[*]"
    assert death.sentence.endswith("; most, 70 %, by __main__.table[*]")


@pytest.mark.parametrize(
    "told", [{"finished": True}, {"is_over": False}, {"is_over": None}],
    ids=["it ended", "it still runs", "nobody knows"],
)  # fmt: skip
def test_healthy_run_near_its_limit_is_not_accused(told):
    assert death_of(run_of(brink(1, 100.0, 0.99, look=True), **told)) is None


@pytest.mark.parametrize("format_", ["terminal", "markdown", "html"])
def test_every_report_begins_with_the_death(format_):
    report = diagnose(run_of(brink(1, 100.0, 0.86, look=True), brink(2, 102.0, 0.99)))
    text = " ".join(render(report, format_).split())

    assert "Died of memory in generation 412" in text[: text.find("Cannot tell") + 1 or None]
    assert "Incomplete run" not in text


def test_json_has_the_death_with_its_limit():
    report = diagnose(run_of(brink(1, 100.0, 0.86, look=True), brink(2, 102.0, 0.99)))
    death = json.loads(render(report, "json"))["death"]

    assert death["of_memory"] is True
    assert death["holder"] == "__main__.history[*]"
    assert death["limit"] == {"kind": "cgroup", "used": 990_000_000, "most": LIMIT}
    assert json.loads(render(diagnose(run_of(finished=True)), "json"))["death"] is None
