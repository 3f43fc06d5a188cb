"""Probes read plausible numbers, or say why they cannot."""

from __future__ import annotations

import os
import sys
import threading
import types

import psutil
import pytest

from leakguard.capture import peak
from leakguard.capture.allocator import allocator_memory, allocator_name
from leakguard.capture.gpu import gpu_memory
from leakguard.capture.heap.collector import collector_state
from leakguard.capture.peak import PeakMeter
from leakguard.capture.probe import Unavailable, measure
from leakguard.capture.process import _cgroup_limits, memory_limit, process_memory
from leakguard.capture.resources import child_processes, open_files
from leakguard.testing import fake_probe

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def test_rss_agrees_with_psutil():
    ours, theirs = process_memory(), psutil.Process().memory_info()
    assert ours["rss"] == pytest.approx(theirs.rss, rel=0.1)
    assert ours["vms"] == pytest.approx(theirs.vms, rel=0.1)


@linux
def test_parts_of_rss_add_up():
    reading = process_memory()
    parts = reading["rss_anonymous"] + reading["rss_file"] + reading["rss_shared"]
    assert parts == pytest.approx(reading["rss"], rel=0.02)


@linux
def test_allocator_tells_live_bytes_from_held_ones():
    if allocator_name() != "glibc":
        pytest.skip("not glibc")
    before = allocator_memory()["heap_in_use"]
    block = bytearray(200_000_000)
    during = allocator_memory()["heap_in_use"]
    del block
    after = allocator_memory()["heap_in_use"]
    assert during - before == pytest.approx(200e6, rel=0.01)
    assert abs(after - before) < 5e6


def test_threads_and_files_are_counted_exactly(tmp_path):
    files = open_files()["open_files"]
    with (tmp_path / "x").open("w"):
        assert open_files()["open_files"] == files + 1
    assert open_files()["open_files"] == files
    release = threading.Event()
    threads = process_memory()["threads"]
    thread = threading.Thread(target=release.wait)
    thread.start()
    assert process_memory()["threads"] == threads + 1
    release.set()
    thread.join()


@linux
def test_children_are_counted():
    before = child_processes()["children"]
    child = os.fork()
    if child == 0:
        os.read(0, 0)
        threading.Event().wait(30)
        os._exit(0)
    try:
        assert child_processes()["children"] == before + 1
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


def test_collector_state_does_not_collect():
    before = collector_state()["gc_full_collections"]
    assert collector_state()["gc_full_collections"] == before


def test_gpu_is_unavailable_with_a_reason_where_torch_is_not_loaded(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    with pytest.raises(Unavailable, match="torch is not loaded"):
        gpu_memory()


def test_gpu_is_not_initialised_by_looking(monkeypatch):
    cuda = types.SimpleNamespace(is_initialized=lambda: False)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    with pytest.raises(Unavailable, match="CUDA is not in use"):
        gpu_memory()


def test_gpu_bytes_are_summed_over_devices(monkeypatch):
    cuda = types.SimpleNamespace(
        is_initialized=lambda: True,
        device_count=lambda: 2,
        memory_allocated=lambda device: 100 + device,
        memory_reserved=lambda device: 200 + device,
    )
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    reading = gpu_memory()
    assert (reading["gpu_allocated"], reading["gpu_reserved"]) == (201, 401)
    assert (reading["gpu_allocated.1"], reading["gpu_reserved.1"]) == (101, 201)


def test_memory_limit_is_at_most_the_machines():
    assert 0 < memory_limit() <= psutil.virtual_memory().total


def test_broken_probe_is_a_reason_and_the_others_still_read():
    def broken():
        raise OSError("no such file")

    result = measure([("broken", broken), ("fine", fake_probe("rss", 7))])
    assert result.metrics == {"rss": 7}
    assert result.unavailable == {"broken": "OSError: no such file"}


@linux
def test_peak_meter_says_why_it_cannot_reset(monkeypatch):
    def denied(path, mode):
        raise PermissionError(13, "Permission denied")

    meter = PeakMeter()
    mark = process_memory()["rss_high_water"]
    monkeypatch.setattr(peak, "FileIO", denied)
    ticket = meter.start(mark)
    with pytest.raises(Unavailable, match="cannot be reset: Permission denied"):
        meter.stop(ticket, mark)


def test_peak_is_unavailable_where_no_mark_is_read():
    meter = PeakMeter()
    with pytest.raises(Unavailable, match="cannot be read"):
        meter.stop(meter.start(None), None)


@linux
def test_what_is_allocated_while_the_meter_is_paused_is_in_no_phase():
    meter = PeakMeter()
    ticket = meter.start(process_memory()["rss_high_water"])
    with meter.paused():
        block = bytearray(b"x" * 80_000_000)
        del block
    peak = meter.stop(ticket, process_memory()["rss_high_water"])
    assert peak - process_memory()["rss"] < 20_000_000


def write_limit(file, limit):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{limit}\n")


def test_every_group_above_the_process_may_limit_it(tmp_path):
    own = tmp_path / "own"
    own.write_text("0::/slice/job\n")
    write_limit(tmp_path / "slice/job/memory.max", "max")
    write_limit(tmp_path / "slice/memory.max", 7_000_000)
    assert set(_cgroup_limits(tmp_path, own)) == {7_000_000}


def test_older_cgroups_and_containers_limit_too(tmp_path):
    own = tmp_path / "own"
    own.write_text("5:cpu,memory:/docker/abc\n3:pids:/other\n")
    write_limit(tmp_path / "memory/docker/abc/memory.limit_in_bytes", 5_000_000)
    write_limit(tmp_path / "memory/memory.limit_in_bytes", 9_000_000)
    assert set(_cgroup_limits(tmp_path, own)) == {5_000_000, 9_000_000}


def test_without_cgroups_only_the_machine_limits(tmp_path):
    assert _cgroup_limits(tmp_path, tmp_path / "missing") == []
    assert 0 < memory_limit() <= psutil.virtual_memory().total
