"""Which files of a run directory are one job, and what its report says of each process."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from leakguard.analysis.job import diagnose_job
from leakguard.cli import main
from leakguard.live.run_directory import Identity, identity, job_of_environment, run_directory
from leakguard.model import RunInfo, Snapshot
from leakguard.model.job import Job, Member
from leakguard.model.pod import Pod
from leakguard.model.run import Run
from leakguard.store import load_job, schema
from leakguard.store.pod_file import write_pod

MB = 1_000_000


def snapshots(rate, generations=10, *, private_rate=None, rss=100 * MB):
    """A process whose live memory and RSS grow by ``rate`` bytes a generation."""
    private_rate = rate if private_rate is None else private_rate
    for n in range(generations + 1):
        metrics = {
            "rss": rss + n * rate,
            "rss_anonymous": rss // 2 + n * rate,
            "heap_in_use": rss // 4 + n * rate,
            "python_in_use": 8 * MB,
            "private": rss // 2 + n * private_rate,
            "pss": rss // 2 + n * private_rate,
        }
        if n:
            yield Snapshot(
                n, f"Gen {n}: End of generation", "generation", None, n, 1.0 * n, metrics
            )
        else:
            yield Snapshot(0, "Run started", "mark", seconds=0.0, metrics=metrics)


def info(rank=None, **facts):
    facts.setdefault("pid", 1000 + (rank or 0))
    return RunInfo(rank=rank, job="erl", host="node", **facts)


def member(rank, rate, **facts):
    return Member(Run(info(rank), tuple(snapshots(rate, **facts)), finished=True), "finished")


def write(folder, told, shots, *, finished=True):
    words = str(told.rank), told.role, str(told.pid), told.observer and f"by-{told.observer}"
    name = f"{'-'.join(filter(None, words))}.jsonl"
    lines = [schema.encode_header(told), *map(schema.encode_snapshot, shots)]
    (folder / name).write_bytes(b"".join(lines) + (schema.encode_end(1) if finished else b""))


def job(*rates, **facts):
    return Job("erl", tuple(member(rank, rate, **facts) for rank, rate in enumerate(rates)))


def test_the_one_rank_that_grows_is_named_and_the_others_are_cleared():
    report, each = diagnose_job(job(0, 0, 0, 3 * MB))
    assert report.headline.startswith("rank 3 grows, the other 3 do not: ")
    assert [row.verdict for row in report.processes] == ["stable", "stable", "stable", "leak"]
    assert [one.verdict for one in each] == ["stable", "stable", "stable", "leak"]
    assert report.findings[0].reason.startswith("rank 3: ")


def test_a_job_in_which_nothing_grows_is_stable():
    report, _ = diagnose_job(job(0, 0, 0, 0))
    assert (report.verdict, report.findings) == ("stable", ())
    assert report.headline == "No leak: none of 4 processes grows without bound."


def test_the_process_that_grows_far_more_than_the_others_is_an_outlier():
    report, _ = diagnose_job(job(MB, MB, MB, 12 * MB))
    assert "all 4 processes grow, rank 3 by +12.0 MB per generation" in report.headline
    alike, _ = diagnose_job(job(MB, MB, MB, MB))
    assert alike.headline.startswith("all 4 processes grow: ")


def test_shared_pages_are_counted_once():
    report, _ = diagnose_job(job(0, 0))
    assert report.remarks[0] == "together 100 MB with shared pages counted once (200 MB of RSS)"


def test_a_process_that_holds_more_is_noted_although_it_does_not_grow():
    members = [member(rank, 0) for rank in range(3)] + [member(3, 0, rss=900 * MB)]
    report, _ = diagnose_job(Job("erl", tuple(members)))
    assert report.verdict == "stable"
    assert "rank 3 holds 450 MB, the others 50.0 MB" in report.remarks


def test_pages_that_a_fork_unshares_are_copy_on_write_and_no_native_leak():
    told = info(role="loader0", forked=True)
    worker = Member(Run(told, tuple(snapshots(0, private_rate=2 * MB))), "lost")
    report, _ = diagnose_job(Job("erl", (worker,)))
    (finding,) = report.findings
    assert (finding.kind, finding.verdict) == ("copy-on-write", "leak")
    assert "arrays" in finding.fix


def test_pages_that_become_private_because_forked_workers_ended_are_no_leak():
    parent = Member(Run(info(), tuple(snapshots(0, private_rate=2 * MB))), "finished")
    report, _ = diagnose_job(Job("erl", (parent,)))
    assert (report.verdict, report.findings) == ("stable", ())


def test_private_memory_that_grows_with_live_memory_is_not_copy_on_write():
    report, _ = diagnose_job(job(2 * MB))
    assert [finding.kind for finding in report.findings] == ["memory"]


def test_a_short_child_seen_from_outside_leaves_the_verdict_alone():
    child = Member(Run(info(0, role="child", observer=1000), tuple(snapshots(0, 2))), "finished")
    report, _ = diagnose_job(Job("erl", (member(0, 0), child)))
    assert report.verdict == "stable"


def test_restart_of_a_rank_counts_once_by_its_last_run(tmp_path):
    write(tmp_path, info(0, pid=7, started="2026-11-22T10:00:00+00:00"), snapshots(9 * MB))
    write(tmp_path, info(0, pid=8, started="2026-11-22T11:00:00+00:00"), snapshots(0))
    (only,) = load_job(tmp_path).members
    assert (only.run.info.pid, only.restarts) == (8, 1)


def test_processes_of_the_same_name_that_ran_at_once_are_two(tmp_path):
    write(tmp_path, info(pid=7, started="2026-11-22T10:00:00+00:00"), snapshots(0))
    write(tmp_path, info(pid=8, started="2026-11-22T10:00:00+00:00"), snapshots(0))
    labels = [member.label for member in load_job(tmp_path).members]
    assert labels == ["process 7", "process 8"]


def test_ranks_of_an_earlier_and_larger_start_are_left_out(tmp_path):
    for rank in range(4):
        told = info(rank, pid=rank, world_size=4, started="2026-11-22T10:00:00+00:00")
        write(tmp_path, told, snapshots(0))
    for rank in range(2):
        told = info(rank, pid=10 + rank, world_size=2, started="2026-11-22T11:00:00+00:00")
        write(tmp_path, told, snapshots(0))
    assert [member.run.info.pid for member in load_job(tmp_path).members] == [10, 11]


def test_a_child_with_a_run_of_its_own_is_not_told_twice(tmp_path):
    write(tmp_path, info(pid=1), snapshots(0))
    write(tmp_path, info(pid=2, role="SpawnProcess-1"), snapshots(0))
    write(tmp_path, info(pid=2, role="child", observer=1), snapshots(0))
    labels = [member.label for member in load_job(tmp_path).members]
    assert labels == ["main", "SpawnProcess-1"]


def test_file_without_a_snapshot_is_a_note_and_the_rest_is_reported(tmp_path, capsys):
    write(tmp_path, info(0), snapshots(0))
    (tmp_path / "rank1-node-5.jsonl").write_bytes(schema.encode_header(info(1)))
    assert main(["report", str(tmp_path), "--full"]) == 0
    assert "rank1-node-5.jsonl was left out" in capsys.readouterr().out


def test_report_of_a_directory_is_one_with_a_row_for_each_process(tmp_path, capsys):
    for rank, rate in enumerate((0, 0, 3 * MB)):
        write(tmp_path, info(rank), snapshots(rate), finished=rank != 1)
    assert main(["report", str(tmp_path), "--format", "json", "--fail-on", "leak"]) == 1
    told = json.loads(capsys.readouterr().out)
    rows = [(row["label"], row["state"], row["verdict"]) for row in told["processes"]]
    assert rows == [
        ("rank 0", "finished", "stable"),
        ("rank 1", "lost", "stable"),
        ("rank 2", "finished", "leak"),
    ]
    assert any(
        "rank 1 ended without notice after generation 10" in said for said in told["remarks"]
    )


def test_check_of_a_directory_checks_each_process(tmp_path, capsys):
    budget = tmp_path / "budget.toml"
    budget.write_text('growth = "1 MB"\n')
    for rank, rate in enumerate((0, 3 * MB)):
        write(tmp_path, info(rank), snapshots(rate))
    assert main(["check", str(tmp_path), "--budget", str(budget)]) == 1
    out = capsys.readouterr().out
    assert "rank 0: growth per generation" in out
    assert "rank 1: growth per generation" in out


def test_folder_of_unrelated_runs_is_no_job(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(
        schema.encode_header(RunInfo(name="a"))
        + b"".join(map(schema.encode_snapshot, snapshots(0)))
    )
    assert load_job(tmp_path) is None


@pytest.mark.parametrize(
    ("out", "is_directory"),
    [("runs/job/", True), ("s3://bucket/job", True), ("runs/erl.jsonl", False), (None, False)],
)
def test_a_slash_or_a_url_means_a_run_directory(out, is_directory):
    assert (run_directory(out) is not None) is is_directory


def test_folder_that_exists_is_a_run_directory(tmp_path):
    assert run_directory(tmp_path) is not None
    assert run_directory(tmp_path / "run.jsonl") is None


def test_file_name_tells_rank_role_host_and_pid():
    who = Identity(3, 1, 8, "loader 0/x", "node.7", 4711)
    assert who.file_name == "rank3-loader_0_x-node.7-4711.jsonl"
    assert Identity(None, None, None, None, "node", 5).file_name == "main-node-5.jsonl"


def test_identity_reads_what_torchrun_sets():
    who = identity(environment={"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "8"})
    assert (who.rank, who.local_rank, who.world_size, who.pid) == (3, 1, 8, os.getpid())
    assert identity(environment={"RANK": "x"}).rank is None


def test_report_schema_holds_for_a_job():
    jsonschema = pytest.importorskip("jsonschema")
    import leakguard
    from leakguard.render import render

    report, _ = diagnose_job(job(0, 3 * MB))
    path = Path(leakguard.__file__).parent / "render" / "templates" / "report.schema.json"
    jsonschema.validate(json.loads(render(report, "json")), json.loads(path.read_text("utf-8")))


@pytest.mark.parametrize("form", ["terminal", "markdown", "html", "junit", "github"])
def test_every_format_tells_the_rank(form):
    from leakguard.render import render

    report, _ = diagnose_job(job(0, 3 * MB))
    assert "rank 1" in render(report, form)


def test_what_an_attached_look_saw_of_a_child_counts_before_what_was_seen_from_outside(tmp_path):
    write(tmp_path, info(pid=1), snapshots(0))
    write(tmp_path, info(pid=2, role="SpawnProcess-1", attached=True), snapshots(0))
    write(tmp_path, info(pid=2, role="child", observer=1), snapshots(0, 50))
    labels = [member.label for member in load_job(tmp_path).members]
    assert labels == ["main", "SpawnProcess-1"]


def test_own_guard_of_a_process_counts_before_an_attached_look(tmp_path):
    write(tmp_path, info(pid=2, role="attached", attached=True), snapshots(0, 50))
    write(tmp_path, info(pid=2, role="own"), snapshots(0))
    (only,) = load_job(tmp_path).members
    assert (only.run.info.role, only.restarts) == ("own", 0)


def test_of_two_that_saw_a_child_from_outside_the_longer_record_counts(tmp_path):
    write(tmp_path, info(pid=1), snapshots(0))
    write(tmp_path, info(pid=2, role="child", observer=1), snapshots(0, 3))
    write_pod(tmp_path, Pod("node", 9, None, {}))
    write(tmp_path, info(pid=2, role="child", observer=9, rank=None, local_rank=2), snapshots(0))
    rows = [(m.label, m.run.recorded_generations) for m in load_job(tmp_path).members]
    assert ("child 2 of main", 10) in rows
    assert len(rows) == 2


def test_of_two_records_from_outside_the_one_that_grows_is_told(tmp_path):
    """Memory that rises by the round stands still by the second while its process waits."""
    write(tmp_path, info(pid=1), snapshots(0))
    write(tmp_path, info(pid=2, role="child", observer=1), snapshots(3 * MB, 20))
    write_pod(tmp_path, Pod("node", 9, None, {}))
    write(tmp_path, info(pid=2, role="child", observer=9), snapshots(0, 60))
    report, _ = diagnose_job(load_job(tmp_path))
    assert report.verdict in ("suspect", "leak")


def test_what_the_sidecar_of_an_earlier_start_saw_is_left_out(tmp_path):
    write(tmp_path, info(pid=1), snapshots(0))
    write(tmp_path, info(pid=2, role="child", observer=8), snapshots(0))
    write_pod(tmp_path, Pod("node", 9, None, {}))
    assert [member.label for member in load_job(tmp_path).members] == ["main"]


def test_job_without_a_guard_is_what_the_sidecar_saw(tmp_path):
    """``torchrun`` under ``leakguard run`` has no rounds of its own."""
    write_pod(tmp_path, Pod("node", 9, None, {"/dev/shm": ((0.0, 5 * MB),)}))
    write(tmp_path, info(pid=1, observer=9), snapshots(0))
    write(tmp_path, info(0, pid=2, observer=9), snapshots(0))
    job_ = load_job(tmp_path)
    assert [member.label for member in job_.members] == ["rank 0", "main"]
    assert [place for pod in job_.pods for place in pod.places] == ["/dev/shm"]


def test_damaged_file_of_a_pod_is_left_out(tmp_path):
    write(tmp_path, info(pid=1), snapshots(0))
    (tmp_path / "pod-node.json").write_text("{")
    assert load_job(tmp_path).pods == ()


def test_environment_names_the_job_of_a_guard_and_of_run(tmp_path):
    assert job_of_environment({}) is None
    assert job_of_environment({"LEAKGUARD_JOB": " "}) is None
    assert job_of_environment({"LEAKGUARD_JOB": "/runs/erl"}) == "/runs/erl/"
    assert job_of_environment({"LEAKGUARD_JOB": "s3://bucket/erl/"}) == "s3://bucket/erl/"
    assert job_of_environment({"LEAKGUARD_JOB": "erl"}) == f"{Path.cwd()}/erl/"


def test_what_attached_looks_did_not_find_is_told_from_outside():
    """Few looks on a busy machine may find nothing in a process that grows all the time."""
    outside = Run(info(pid=2, role="child", observer=9), tuple(snapshots(3 * MB, 60)))
    looked = Member(Run(info(pid=2, attached=True), tuple(snapshots(0))), "finished", 0, (outside,))
    report, _ = diagnose_job(Job("erl", (member(0, 0), looked)))
    assert report.verdict in ("suspect", "leak")
    calm = replace(looked, outside=(Run(outside.info, tuple(snapshots(0, 60))),))
    assert diagnose_job(Job("erl", (member(0, 0), calm)))[0].verdict == "stable"
