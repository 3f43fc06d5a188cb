"""What a pod holds beside its processes is read from the kernel; what cannot be read is missing."""

from __future__ import annotations

import os
import sys

import pytest

from leakguard.capture import pod
from leakguard.capture.pod import plasma_store, pod_memory

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def test_file_in_shared_memory_counts_as_memory_of_the_pod(tmp_path):
    from multiprocessing.shared_memory import SharedMemory

    before = pod_memory()["/dev/shm"]
    segment = SharedMemory(create=True, size=8_000_000)
    try:
        segment.buf[:] = b"x" * segment.size
        assert pod_memory()["/dev/shm"] - before >= 7_000_000
    finally:
        segment.close()
        segment.unlink()


def test_page_cache_is_that_of_the_group_without_shared_memory(tmp_path, monkeypatch):
    stat = "anon 5\nfile 700\nshmem 200\nfile_mapped 3\n"
    (tmp_path / "memory.stat").write_text(stat)
    monkeypatch.setattr(pod, "memory_groups", lambda pid: [(tmp_path / "memory.max", tmp_path)])
    assert pod_memory()["page cache"] == 500
    version_1 = "cache 1\nshmem 1\ntotal_cache 900\ntotal_shmem 100\n"
    (tmp_path / "memory.stat").write_text(version_1)
    assert pod_memory()["page cache"] == 800


def test_without_groups_the_cache_is_that_of_the_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(pod, "memory_groups", lambda pid: [])
    told = tmp_path / "meminfo"
    told.write_text("MemTotal: 10 kB\nCached:    50 kB\nSwapCached:   7 kB\nShmem:   20 kB\n")
    monkeypatch.setattr(pod, "_MEMINFO", told)
    assert pod_memory()["page cache"] == 30 * 1024
    monkeypatch.setattr(pod, "_MEMINFO", tmp_path / "missing")
    assert "page cache" not in pod_memory()


def test_process_without_ray_has_no_store():
    assert plasma_store(os.getpid()) is None
    assert plasma_store(2**22 + 1) is None
