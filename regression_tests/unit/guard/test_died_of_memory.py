"""Programs that die: what their run files say afterwards, and what a healthy twin's says."""

from __future__ import annotations

import signal
import sys

import pytest
from faulty_programs import trained, went_on

import leakguard

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limits are Linux's")

# 250 MB more than the program has when it begins.
LIMITED = """
import resource
kept = []
pages = int(open("/proc/self/statm").read().split()[0])
most = pages * resource.getpagesize() + 250_000_000
resource.setrlimit(resource.RLIMIT_AS, (most, most))
"""


def death(out):
    return leakguard.diagnose(leakguard.load(out)).death


@pytest.mark.parametrize("amount", ["bytearray(500_000)", "[object() for _ in range(20_000)]"])
def test_memory_error_that_leaves_the_loop_is_told_with_the_holder(tmp_path, amount):
    out = tmp_path / "run.jsonl"

    done = trained(out, before=LIMITED, body=f"kept.append({amount})", rounds=9999)

    assert "MemoryError" in done.stderr
    told = death(out)
    assert told.of_memory
    assert (told.kind, told.holder) == ("MemoryError", "__main__.kept[*]")


def test_memory_error_within_one_long_generation_is_told_with_the_holder(tmp_path):
    out = tmp_path / "run.jsonl"

    trained(out, before=LIMITED, body="while True: kept.append(bytearray(20_000))", rounds=1)

    told = death(out)
    assert (told.generation, told.holder) == (1, "__main__.kept[*]")


def test_healthy_twin_near_its_limit_ends_and_is_not_accused(tmp_path):
    out = tmp_path / "run.jsonl"
    body = "while sum(map(len, kept)) < 200_000_000: kept.append(bytearray(500_000))"

    done = trained(out, before=LIMITED, body=body)

    assert went_on(done), done.stderr[-2000:]
    assert any(s.brink is not None for s in leakguard.load(out).snapshots)
    assert death(out) is None


def test_memory_error_that_the_program_handles_is_no_death(tmp_path):
    out = tmp_path / "run.jsonl"
    body = """
        try: bytearray(10**12)
        except MemoryError: pass
    """

    assert went_on(trained(out, before=LIMITED, body=body))
    assert death(out) is None


def test_killed_far_from_a_limit_it_did_not_die_of_memory(tmp_path):
    out = tmp_path / "run.jsonl"

    done = trained(out, body="if number == 5: os.kill(os.getpid(), signal.SIGKILL)")

    assert done.returncode == -signal.SIGKILL
    told = death(out)
    assert told.of_memory is False
    assert told.generation == 5


def test_without_the_black_box_nothing_near_a_limit_is_recorded(tmp_path):
    out = tmp_path / "run.jsonl"

    trained(out, before=LIMITED, body="kept.append(bytearray(500_000))", rounds=9999,
            arguments="black_box=False")  # fmt: skip

    assert all(s.brink is None for s in leakguard.load(out).snapshots)
