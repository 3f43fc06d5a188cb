"""A copy of the process is not made where it could hurt the process itself."""

from __future__ import annotations

import pytest

from leakguard.capture import headroom
from leakguard.capture.heap import apart
from leakguard.capture.heap.process_copy import CopyRefused, ProcessCopy


@pytest.fixture
def settings(tmp_path, monkeypatch):
    monkeypatch.setattr(headroom, "_VM", tmp_path)
    monkeypatch.setattr(
        headroom, "memory_groups", lambda pid: [(tmp_path / "memory.max", tmp_path)]
    )
    return tmp_path


def test_process_whose_memory_is_promised_only_once_is_not_copied(settings):
    (settings / "overcommit_memory").write_text("2\n")

    with pytest.raises(CopyRefused, match="does not overcommit"):
        ProcessCopy.begin(lambda: b"", seconds=1, memory=0)


@pytest.mark.parametrize("mode", ["0\n", "1\n", None])
def test_usual_promises_of_memory_are_no_hindrance(settings, mode):
    if mode is not None:
        (settings / "overcommit_memory").write_text(mode)

    assert headroom.copy_hindrance() is None


@pytest.mark.parametrize(
    ("kernel", "target", "hindered"),
    [
        ((5, 4), "/dev/infiniband/uverbs0", True),
        ((5, 4), "/dev/nvidia0", True),
        ((5, 4), "/dev/null", False),
        ((5, 12), "/dev/infiniband/uverbs0", False),
    ],
)
def test_process_with_a_device_is_not_copied_by_an_old_kernel(
    settings, monkeypatch, kernel, target, hindered
):
    files = settings / "fd"
    files.mkdir()
    (files / "7").symlink_to(target)
    monkeypatch.setattr(headroom, "_FILES", files)
    monkeypatch.setattr(headroom, "_kernel", lambda: kernel)

    assert (headroom.copy_hindrance() is not None) == hindered


@pytest.mark.parametrize("name", ["memory.oom.group", "oom_kill_allocating_task"])
def test_look_is_not_copied_where_the_process_would_die_of_the_memory(settings, monkeypatch, name):
    monkeypatch.setattr(apart, "free_memory", lambda: 1_000_000)
    assert apart._hindrance() is None  # the copy dies first

    (settings / name).write_text("1\n")

    assert "use up the memory" in str(apart._hindrance())
