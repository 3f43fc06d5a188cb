"""What a pod holds beside its processes: rows of the job, and which of them grow."""

from __future__ import annotations

from leakguard.analysis.job import diagnose_job
from leakguard.analysis.pod import growing_places, pod_rows
from leakguard.model import Run, RunInfo, Snapshot
from leakguard.model.job import Job, Member
from leakguard.model.pod import Pod
from leakguard.render import render

MB = 1_000_000


def pod(**places):
    """A pod with a place for each name, read every five seconds."""
    named = {"shm": "/dev/shm", "cache": "page cache", "plasma": "Ray plasma"}
    series = {
        named[name]: tuple((5.0 * n, size) for n, size in enumerate(sizes))
        for name, sizes in places.items()
    }
    return Pod("node", 7, None, series)


def job(*pods):
    metrics = {"rss": 100 * MB, "rss_anonymous": 50 * MB, "heap_in_use": 40 * MB}
    shots = (Snapshot(n, f"Gen {n}", "generation", None, n, 1.0 * n, metrics) for n in range(1, 30))
    info = RunInfo(job="erl", host="node", pid=1)
    return Job("erl", (Member(Run(info, tuple(shots), finished=True), "finished"),), pods=pods)


def test_files_that_nobody_removes_are_a_suspect_although_no_process_grows():
    report, _ = diagnose_job(job(pod(shm=[n * MB for n in range(40)])))
    assert report.verdict == "suspect"
    assert report.headline == (
        "/dev/shm grows by +12.0 MB a minute, beside the processes, none of which grows."
    )
    assert any("until it is removed" in remark for remark in report.remarks)


def test_segments_that_come_and_go_are_no_growth():
    report, _ = diagnose_job(job(pod(shm=[(n % 5) * 20 * MB for n in range(40)])))
    assert report.verdict == "stable"


def test_page_cache_and_a_bounded_store_that_grow_are_no_leak():
    rows = list(
        pod_rows([pod(cache=[n * MB for n in range(40)], plasma=[n * MB for n in range(40)])])
    )
    assert [row.bytes_per_minute for row in rows] == [12 * MB, 12 * MB]
    assert growing_places(rows) == []


def test_few_points_tell_no_growth_and_an_empty_place_no_row():
    (row,) = pod_rows([pod(shm=[n * 10 * MB for n in range(7)], cache=[0, 0, 0])])
    assert (row.place, row.bytes, row.bytes_per_minute) == ("/dev/shm", 60 * MB, 0.0)


def test_places_are_rows_of_the_table_of_processes():
    report, _ = diagnose_job(job(pod(shm=[n * MB for n in range(40)], cache=[300 * MB] * 40)))
    text = render(report, "terminal")
    assert "page cache   no process" in text
    assert "+12.0 MB a minute" in text
