"""Real processes that write beside each other into one run directory."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from leakguard import LeakGuard, UsageError
from leakguard.analysis.job import diagnose_job
from leakguard.capture.heap import ENGINE
from leakguard.store import load_job

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def run(tmp_path, source, *arguments, launcher=(), **environment):
    """Run a program from a file, as multiprocessing needs it; return its standard error."""
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(source), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, *launcher, str(program), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def report_of(folder):
    return diagnose_job(load_job(folder))[0]


LOOP = """
import multiprocessing, os, sys, time
from leakguard import LeakGuard

class Rollout:
    def __init__(self):
        self.rewards = [float(step) for step in range(20_000)]

kept = []

def loop(rank, leaks, rounds=8):
    os.environ["RANK"] = str(rank)
    with LeakGuard(out="runs/job/", max_overhead=None) as guard:
        for generation in guard.generations(range(1, rounds + 1)):
            rollout = Rollout()
            if leaks:
                kept.append(rollout)
"""

WORKERS = (
    LOOP
    + """
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    workers = [context.Process(target=loop, args=(rank, rank == 3)) for rank in range(4)]
    for worker in workers: worker.start()
    for worker in workers: worker.join()
    sys.exit(any(worker.exitcode for worker in workers))
"""
)


@pytest.mark.parametrize(
    "method",
    ["fork", *(pytest.param(name, marks=pytest.mark.heavy) for name in ("forkserver", "spawn"))],
)
def test_of_four_processes_the_one_that_leaks_is_named_with_its_holder(method, tmp_path):
    run(tmp_path, WORKERS, method)
    report = report_of(tmp_path / "runs/job")
    assert re.match(r"rank 3 \w+Process-4 grows, the other 3 do not: ", report.headline)
    assert report.findings[0].held_by.endswith("kept[*]")
    assert [row.verdict for row in report.processes] == ["stable", "stable", "stable", "leak"]


def test_only_the_process_that_has_something_to_tell_speaks_at_the_end(tmp_path):
    said = run(tmp_path, WORKERS, "fork")
    assert said.count("LEAK") == 1
    assert f"leakguard report {tmp_path}/runs/job" in said


def test_forked_child_begins_a_run_beside_the_one_of_its_parent(tmp_path):
    run(
        tmp_path,
        """
        import os
        from leakguard import LeakGuard
        guard = LeakGuard(out="runs/", report=None)
        with guard:
            for _ in guard.generations(2):
                pass
            child = os.fork()
            if not child:
                with guard:
                    for _ in guard.generations(3):
                        pass
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            for _ in guard.generations(2):
                pass
        """,
    )
    members = load_job(tmp_path / "runs").members
    assert sorted(len(member.run.generation_ends()) for member in members) == [2, 3]
    assert all(member.run.finished for member in members)


def test_phase_in_a_forked_child_begins_no_run(tmp_path):
    guard = LeakGuard(out=tmp_path, report=None)
    with guard:
        list(guard.generations(2))
        child = os.fork()
        if not child:
            with guard.phase("load"):
                pass
            os._exit(0)
        os.waitpid(child, 0)
    assert len(list(tmp_path.glob("*.jsonl"))) == 1


def test_killed_writer_loses_at_most_its_last_line(tmp_path):
    source = LOOP + "loop(0, False, rounds=10**9)\n"
    program = tmp_path / "program.py"
    program.write_text(source, encoding="utf-8")
    process = subprocess.Popen([sys.executable, str(program)], cwd=tmp_path)
    folder = tmp_path / "runs/job"
    while not any(file.stat().st_size > 20_000 for file in folder.glob("*.jsonl")):
        assert process.poll() is None
        time.sleep(0.01)
    assert load_job(folder).members[0].state == "running"
    process.send_signal(signal.SIGKILL)
    process.wait()
    (member,) = load_job(folder).members
    assert member.state == "lost"
    (file,) = folder.glob("*.jsonl")
    lines = file.read_bytes().split(b"\n")
    whole = [line for line in lines if line and _is_json(line)]
    assert len([line for line in lines if line]) - len(whole) <= 1
    assert len(member.run.snapshots) == len(whole) - 1  # the first line is the header


def test_of_four_processes_one_killed_in_mid_write_loses_its_last_line_and_the_leak_is_told(
    tmp_path,
):
    source = """
from leakguard.store import jsonl

def write_half_and_die(file, text):
    if b'"generation":5,' in text and b'"moment":"generation"' in text:
        os.write(file.fileno(), text[: len(text) // 2])
        os.kill(os.getpid(), 9)
    write_all(file, text)

def work(rank):
    if rank == 1:
        jsonl.write_all = write_half_and_die
    loop(rank, rank == 3)

write_all = jsonl.write_all
if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=work, args=(rank,)) for rank in range(4)]
    for worker in workers: worker.start()
    for worker in workers: worker.join()
    assert [worker.exitcode for worker in workers] == [0, -9, 0, 0]
"""
    run(tmp_path, LOOP + source)
    folder = tmp_path / "runs/job"
    members = load_job(folder).members
    assert [member.state for member in members] == ["finished", "lost", "finished", "finished"]
    assert [len(member.run.generations) for member in members] == [8, 4, 8, 8]
    torn = [
        line
        for file in folder.glob("*.jsonl")
        for line in filter(None, file.read_bytes().split(b"\n"))
        if not _is_json(line)
    ]
    assert len(torn) == 1
    report = report_of(folder)
    assert report.headline.startswith("rank 3 ForkProcess-4 grows")
    assert report.findings[0].held_by.endswith("kept[*]")


def _is_json(line):
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


@pytest.mark.heavy
def test_sixty_four_writers_at_once_lose_nothing(tmp_path):
    run(
        tmp_path,
        """
        import multiprocessing, os
        from leakguard import LeakGuard

        def loop(rank, all_began):
            os.environ.update(RANK=str(rank), WORLD_SIZE="64")
            with LeakGuard(out="runs/", max_overhead=0.001) as guard:
                guard.snapshot("Begun")
                all_began.wait()
                for generation in guard.generations(range(1, 6)):
                    pass

        if __name__ == "__main__":
            context = multiprocessing.get_context("fork")
            barrier = context.Barrier(64)
            workers = [context.Process(target=loop, args=(n, barrier)) for n in range(64)]
            for worker in workers: worker.start()
            for worker in workers: worker.join()
        """,
    )
    job = load_job(tmp_path / "runs")
    assert [member.run.info.rank for member in job.members] == list(range(64))
    assert {len(member.run.generations) for member in job.members} == {5}
    assert all(member.run.finished and not member.run.notes for member in job.members)


SHARED = """
import multiprocessing, sys, time
import numpy
from leakguard import LeakGuard

SAMPLES, ROUNDS = 900_000, 10
if sys.argv[1] == "objects":
    samples = [(f"sample-{n}", float(n)) for n in range(SAMPLES)]
else:
    samples = numpy.arange(20.0 * SAMPLES)

def read(index):
    with LeakGuard(out="runs/") as guard:
        part = SAMPLES // (2 * ROUNDS)
        for number in guard.generations(range(1, ROUNDS + 1)):
            for sample in samples[(number - 1) * part : number * part]:
                pass

if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=read, args=(n,)) for n in range(2)]
    for worker in workers: worker.start()
    for worker in workers: worker.join()
"""


def test_objects_that_a_fork_shares_and_a_worker_reads_are_copy_on_write(tmp_path):
    run(tmp_path, SHARED, "objects")
    report = report_of(tmp_path / "runs")
    assert report.findings[0].kind == "copy-on-write"
    for one in jobs(tmp_path):
        said = (shot.unavailable.get("census", "") for shot in one.run.snapshots)
        assert any("would copy" in reason for reason in said)


def test_array_that_a_fork_shares_and_a_worker_reads_is_not(tmp_path):
    run(tmp_path, SHARED, "array")
    assert report_of(tmp_path / "runs").verdict == "stable"


def jobs(tmp_path):
    return load_job(tmp_path / "runs").members


UNPREPARED = """
import multiprocessing, sys, time
from leakguard import LeakGuard

def work(orders, leaks):
    kept = []
    while orders.recv():
        block = bytearray(b"x") * 3_000_000
        if leaks:
            kept.append(block)
        orders.send(True)

if __name__ == "__main__":
    pipes = []
    for n in range(2):
        here, there = multiprocessing.Pipe()
        multiprocessing.Process(target=work, args=(there, n == 1), daemon=True).start()
        pipes.append(here)
    with LeakGuard(out="runs/", report=None) as guard:
        for generation in guard.generations(range(1, 13)):
            for pipe in pipes:
                pipe.send(True)
                pipe.recv()
    for pipe in pipes:
        pipe.send(False)
"""


def test_worker_that_nobody_prepared_is_seen_from_outside(tmp_path):
    run(tmp_path, UNPREPARED)
    report = report_of(tmp_path / "runs")
    rows = {row.label: row.verdict for row in report.processes}
    assert rows.pop("main") == "stable"
    assert sorted(rows.values()) == ["stable", "suspect"] or sorted(rows.values()) == [
        "leak",
        "stable",
    ]
    assert any("without a guard, observed from outside" in said for said in report.remarks)


def test_run_directory_on_a_file_system_in_memory(tmp_path):
    pytest.importorskip("fsspec")
    with LeakGuard(out="memory://runs/job", report=None) as guard:
        list(guard.generations(4))
    (member,) = load_job("memory://runs/job").members
    assert len(member.run.generations) == 4
    assert member.state == "finished"


def test_url_that_nothing_can_open_is_refused_in_one_line():
    pytest.importorskip("fsspec")
    with pytest.raises(UsageError, match="nonsense://job"):
        LeakGuard(out="nonsense://job/").start()


@pytest.mark.heavy
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")
def test_actors_on_several_nodes_of_a_ray_cluster_are_told_apart(tmp_path):
    run(
        tmp_path,
        """
        import sys
        import ray
        from ray.cluster_utils import Cluster
        from leakguard.integrations.ray import watched_actor

        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        for _ in range(2):
            cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)

        @ray.remote(num_cpus=1)
        @watched_actor(sys.argv[1], every=1)
        class Rollouts:
            def __init__(self, leaks):
                self.leaks, self.kept = leaks, []
            def rollout(self):
                rollout = [float(step) for step in range(20_000)]
                if self.leaks:
                    self.kept.append(rollout)
                return ray.get_runtime_context().get_node_id()

        actors = [Rollouts.remote(number == 1) for number in range(3)]
        for _ in range(10):
            nodes = ray.get([actor.rollout.remote() for actor in actors])
        assert len(set(nodes)) == 3, nodes
        ray.shutdown()
        cluster.shutdown()
        """,
        tmp_path / "runs",
    )
    report = report_of(tmp_path / "runs")
    assert re.match(r"Rollouts \d+ grows, the other 2 do not: ", report.headline)
    assert "kept[*]" in report.findings[0].held_by
    assert sorted(row.verdict for row in report.processes) == ["leak", "stable", "stable"]


@pytest.mark.heavy
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_torchrun_ranks_are_told_apart(tmp_path):
    run(
        tmp_path,
        """
        import torch.distributed as dist, torch
        from leakguard import LeakGuard

        dist.init_process_group("gloo")
        kept = []
        with LeakGuard(out="runs/job/") as guard:
            for generation in guard.generations(range(1, 9)):
                with guard.phase("rollout"):
                    rollout = [float(step) for step in range(50_000)]
                    if dist.get_rank() == 3:
                        kept.append(rollout)
                dist.all_reduce(torch.ones(10))
        dist.destroy_process_group()
        """,
        launcher=("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4"),
    )
    report = report_of(tmp_path / "runs/job")
    assert report.headline.startswith("rank 3 grows, the other 3 do not: ")
    assert report.findings[0].held_by.endswith("kept[*]")
    assert report.findings[0].phase == "rollout"


@pytest.mark.heavy
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_loader_workers_are_named_by_their_number(tmp_path):
    run(
        tmp_path,
        """
        import torch
        from torch.utils.data import DataLoader, Dataset
        from leakguard import LeakGuard

        class Samples(Dataset):
            guard = None
            def __len__(self):
                return 40
            def __getitem__(self, index):
                if Samples.guard is None:
                    Samples.guard = LeakGuard(out="runs/")
                Samples.guard.generation()
                return torch.ones(4)

        if __name__ == "__main__":
            for batch in DataLoader(Samples(), batch_size=4, num_workers=2):
                pass
        """,
    )
    labels = [member.label for member in load_job(tmp_path / "runs").members]
    assert labels == ["loader0", "loader1"]


@pytest.mark.skipif(ENGINE != "compiled", reason="a copy is made by the compiled scan")
def test_copy_in_which_a_guard_looks_is_no_worker():
    from leakguard.capture.heap.process_copy import ProcessCopy
    from leakguard.capture.outside import descendants

    def wait():
        time.sleep(60)
        return b""

    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as worker:
        copy = ProcessCopy.begin(wait, seconds=60, memory=0)
        try:
            assert list(descendants(os.getpid())) == [worker.pid]
        finally:
            copy.end()
            worker.kill()
