"""Who is attached to a process, as a file says, and who was."""

from __future__ import annotations

import json
import os

import pytest

from leakguard.capture.outside import process_began
from leakguard.errors import UsageError
from leakguard.launch.attach import presence as module
from leakguard.launch.attach.presence import have_it_leave, present_at, who_is_at

TARGET = 4_711


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    monkeypatch.setattr(module, "private_folder", lambda: tmp_path)
    return tmp_path


def test_nobody_is_at_a_process_that_was_never_attached_to():
    assert who_is_at(TARGET) is None


def test_who_is_attached_is_known_until_it_leaves(folder):
    with present_at(TARGET):
        assert who_is_at(TARGET).pid == os.getpid()
    assert who_is_at(TARGET) is None
    assert not list(folder.iterdir())


def test_two_are_never_attached_at_once():
    with (
        present_at(TARGET),
        pytest.raises(UsageError, match="leakguard detach 4711 ends that"),
        present_at(TARGET),
    ):
        raise AssertionError("unreachable")


@pytest.mark.parametrize("pid", [os.getpid(), 2**22 + 1], ids=["of another", "of nobody"])
def test_who_was_killed_is_not_there_and_its_file_goes(folder, pid):
    file = folder / f"attached-{TARGET}.json"
    file.write_text(json.dumps({"pid": pid, "began": (process_began(os.getpid()) or 0) - 1}))
    assert who_is_at(TARGET) is None
    assert not file.exists()


def test_file_that_says_nothing_is_nobody(folder):
    (folder / f"attached-{TARGET}.json").write_text("[]")
    assert who_is_at(TARGET) is None


def test_nobody_can_be_told_to_leave():
    with pytest.raises(UsageError, match="nobody is attached to process 4711"):
        have_it_leave(TARGET, 1.0)


def test_folder_that_others_may_enter_is_not_believed(folder):
    folder.chmod(0o755)
    with pytest.raises(UsageError, match="is no private folder"), present_at(TARGET):
        raise AssertionError("unreachable")
