"""A guard in a memory cgroup: its limit is known, nearly reached, and reached."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest
from faulty_programs import in_namespace, trained, went_on

import leakguard
from leakguard.capture.process import memory_groups

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="cgroups are Linux's")

LIMIT = 300 * 2**20  # bytes; the program without its ballast takes about 60 MB


@pytest.fixture
def group(request):
    """A memory cgroup of either version below this process's own, with a limit in bytes."""
    own = max((limit for limit, _ in memory_groups() if limit.exists()), key=_depth, default=None)
    if own is None:
        pytest.skip("no memory cgroup can be seen here")
    made = own.parent / f"leakguard-{os.getpid()}"
    try:
        made.mkdir()
    except OSError as error:
        pytest.skip(f"no memory cgroup may be made here: {error.strerror}")
    try:
        (made / own.name).write_text(str(getattr(request, "param", LIMIT)))
        yield made
    except OSError as error:
        pytest.skip(f"no memory cgroup may be limited here: {error.strerror}")
    finally:
        remove(made)


def _depth(path: Path) -> int:
    return len(path.parts)


def remove(group: Path) -> None:
    """Remove a group; the process that was in it may have to be buried first."""
    while True:
        try:
            return group.rmdir()
        except OSError:
            time.sleep(0.05)


def within(group: Path) -> list[str]:
    """Return a command that runs another one as a member of the group."""
    return ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$0" "$@"']


def test_limit_of_a_memory_group_is_told_and_nearly_reached_it_hurts_nobody(tmp_path, group):
    body = """
        if number == 3:
            from leakguard.capture.headroom import free_memory
            ballast = bytearray(free_memory() - 30_000_000)
            ballast[::4096] = b"x" * len(ballast[::4096])
            assert free_memory() < 40_000_000
    """
    done = trained(tmp_path / "run.jsonl", prefix=within(group), body=body, rounds=20)
    assert went_on(done), done.stderr[-2000:]
    run = leakguard.load(tmp_path / "run.jsonl")
    assert run.finished
    assert run.info.memory_limit == LIMIT
    assert len(run.generations) == 20


@pytest.mark.parametrize("group", [LIMIT // 2], indirect=True, ids=["150 MiB"])
def test_killed_at_the_limit_of_its_group_the_file_can_be_read_and_names_the_leak(tmp_path, group):
    before = """
        class Rollout:
            def __init__(self): self.rewards = bytearray(b'x' * 7_000_000)
        kept = []
    """
    out = tmp_path / "run.jsonl"
    done = trained(
        out, prefix=within(group), before=before, body="kept.append(Rollout())", rounds=999,
        arguments="trace=False, max_overhead=None",
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL
    run = leakguard.load(out)
    assert not run.finished
    assert len(run.generations) >= 8
    report = leakguard.diagnose(run)
    assert report.verdict == "leak"
    assert report.findings[0].type == "__main__.Rollout"
    assert report.death is not None
    assert report.death.of_memory
    assert report.death.holder == "__main__.kept[*]"


def fake_groups(folder: Path, limit: str) -> list[str]:
    """Return a command that runs another one where /sys/fs/cgroup is of version 2, and made up."""
    (folder / "cgroup").mkdir()
    (folder / "cgroup/memory.max").write_text(limit)
    (folder / "cgroup/memory.current").write_text("100000000\n")
    return in_namespace(f"mount --bind {folder}/cgroup /sys/fs/cgroup")


def test_limit_of_a_group_of_version_2_is_told(tmp_path):
    out = tmp_path / "run.jsonl"
    body = """
        from leakguard.capture.headroom import free_memory
        assert free_memory() == 200_000_000
    """
    done = trained(out, prefix=fake_groups(tmp_path, "300000000\n"), body=body, rounds=3)
    assert went_on(done), done.stderr[-2000:]
    assert leakguard.load(out).info.memory_limit == 300_000_000


@pytest.mark.parametrize(
    "limit", ["max\n", "", "12 MB", "-1\n", "\0" * 9, "9" * 5000],
    ids=["max", "empty", "with a unit", "negative", "zero bytes", "5,000 digits"],
)  # fmt: skip
def test_limit_that_is_no_number_of_bytes_is_none(tmp_path, limit):
    out = tmp_path / "run.jsonl"
    done = trained(out, prefix=fake_groups(tmp_path, limit), rounds=3)
    assert went_on(done), done.stderr[-2000:]
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert leakguard.load(out).info.memory_limit == machine


def test_groups_that_vanish_in_mid_run_are_no_error(tmp_path):
    prefix = fake_groups(tmp_path, "300000000\n")
    body = "if number == 2: __import__('shutil').rmtree('/sys/fs/cgroup', ignore_errors=True)"
    done = trained(tmp_path / "run.jsonl", prefix=prefix, body=body)
    assert went_on(done), done.stderr[-2000:]
    assert not list((tmp_path / "cgroup").iterdir())
    assert leakguard.load(tmp_path / "run.jsonl").finished
