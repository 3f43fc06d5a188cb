"""A guard with `on_signal=` answers its signal and `leakguard snapshot PID`."""

from __future__ import annotations

import os
import signal
import socket
import tempfile

import pytest

from leakguard import LeakGuard
from leakguard.live.answering import Answering
from leakguard.live.call import ask, socket_path

needs_credentials = pytest.mark.skipif(
    not hasattr(socket, "SO_PEERCRED"), reason="the system does not name a socket's other end"
)
ASKED = "Requested by leakguard snapshot"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return socket_path(1).parent


@pytest.fixture
def guard(tmp_path):
    return LeakGuard(out=tmp_path / "run.jsonl", on_signal="USR1", report=None)


def labels(guard):
    return [snapshot.label for snapshot in guard.run.snapshots]


@needs_credentials
def test_caller_gets_the_look_that_the_run_records(guard, tmp_path):
    with guard:
        seen, out = ask(os.getpid(), 60)
        again, _ = ask(os.getpid(), 60)
        assert (seen.label, out) == (ASKED, str(tmp_path / "run.jsonl"))
        assert again.serial > seen.serial
        assert labels(guard) == ["Run started", ASKED, ASKED]
    assert not socket_path(os.getpid()).exists()


@needs_credentials
def test_guard_without_the_setting_opens_no_socket(tmp_path, folder):
    with LeakGuard(out=tmp_path / "run.jsonl", report=None):
        assert not folder.exists()


@needs_credentials
def test_second_guard_of_a_process_leaves_the_answers_to_the_first(guard, tmp_path):
    second = LeakGuard(out=tmp_path / "second.jsonl", on_signal="USR2", report=None)
    with guard:
        second.start()
        second.stop()
        assert ask(os.getpid(), 60)[1] == str(tmp_path / "run.jsonl")
    noted = [
        snapshot.unavailable.get("leakguard snapshot", "") for snapshot in second.run.snapshots
    ]
    assert any("another guard of this process answers" in note for note in noted)


def test_folder_that_is_a_link_is_not_used_and_the_signal_is_answered(guard, folder, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    with guard:
        os.kill(os.getpid(), signal.SIGUSR1)
        assert labels(guard) == ["Run started", "Requested by a signal"]
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert "leakguard snapshot" in guard.run.snapshots[0].unavailable


@needs_credentials
def test_look_that_fails_is_told_as_a_problem(guard, monkeypatch):
    with guard:
        looker = guard._guarded.looker
        monkeypatch.setattr(type(looker), "holders", lambda *_: 1 / 0)
        with pytest.raises(ValueError, match="the look failed"):
            ask(os.getpid(), 60)


@needs_credentials
def test_forked_child_leaves_its_parents_socket(guard):
    with guard:
        child = os.fork()
        if child == 0:
            try:
                for one in list(_answerings()):
                    one.stop()
                guard.stop()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert ask(os.getpid(), 60)[0].label == ASKED


def _answerings():
    import gc

    return [one for one in gc.get_objects() if type(one) is Answering]
