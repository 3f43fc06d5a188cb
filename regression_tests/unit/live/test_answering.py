"""Who is answered, and who is believed, when a process is asked for a look."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from leakguard import UsageError
from leakguard.live.answering import Answering, ask, socket_path
from leakguard.model import Snapshot

pytestmark = pytest.mark.skipif(
    not hasattr(socket, "SO_PEERCRED"), reason="the system does not name a socket's other end"
)
SEEN = Snapshot(7, "asked")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return socket_path(1).parent


@pytest.fixture
def answering():
    one = Answering(lambda: SEEN, "run.jsonl")
    one.start()
    yield one
    one.stop()


def asked(number):
    """Ask from another thread of this process, whose pid and user the kernel names."""
    return ask(number, 20)


def test_caller_is_told_the_look_and_where_the_run_is(answering):
    assert asked(os.getpid()) == (SEEN, str(Path("run.jsonl").absolute()))


def test_folder_and_socket_are_the_users_alone_and_go_with_it(answering, folder):
    assert folder.stat().st_mode & 0o777 == 0o700
    answering.stop()
    assert list(folder.iterdir()) == []
    with pytest.raises(OSError):
        asked(os.getpid())


def test_thread_is_none_that_a_program_would_wait_for():
    before = threading.enumerate()
    one = Answering(lambda: SEEN, None)
    one.start()
    try:
        asked(os.getpid())
        assert threading.enumerate() == before
    finally:
        one.stop()


def test_socket_of_another_process_is_not_believed(answering):
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        socket_path(os.getpid()).rename(socket_path(other.pid))
        with pytest.raises(UsageError, match=f"is not of process {other.pid}"):
            asked(other.pid)
    finally:
        other.communicate()


def test_folder_that_others_may_enter_or_that_is_a_link_is_not_used(folder, tmp_path):
    folder.mkdir(mode=0o755)
    with pytest.raises(PermissionError):
        Answering(lambda: SEEN, None).start()
    with pytest.raises(PermissionError):
        asked(os.getpid())
    folder.rename(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").chmod(0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PermissionError):
        Answering(lambda: SEEN, None).start()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_is_told_nothing(answering, folder):
    answers_anew, tell = os.pipe()  # the socket is made anew when the fork is over
    child = os.fork()
    if not child:
        os.read(answers_anew, 1)
        os._exit(_read_as_nobody(socket_path(os.getppid())))
    os.write(tell, b"!")
    for end in (answers_anew, tell):
        os.close(end)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _read_as_nobody(path):
    """Return 0 where nothing comes, 1 where something does, 2 where it failed."""
    try:
        path.chmod(0o777)
        path.parent.chmod(0o755)
        os.chdir(path.parent)  # folders above may be closed
        os.setuid(65534)
        with socket.socket(socket.AF_UNIX) as call:
            call.settimeout(20)
            call.connect(path.name)
            return int(bool(call.recv(10)))
    except BaseException:
        return 2


def test_look_that_fails_is_told_and_the_next_one_is_taken(folder):
    looks = iter([ZeroDivisionError, None])

    def look():
        if error := next(looks):
            raise error
        return SEEN

    one = Answering(look, None)
    one.start()
    try:
        with pytest.raises(UsageError, match="ZeroDivisionError"):
            asked(os.getpid())
        assert asked(os.getpid())[0] == SEEN
    finally:
        one.stop()


def test_sockets_of_processes_that_were_killed_are_swept_away(folder, answering):
    left = folder / "999999999.sock"
    left.touch()
    two = Answering(lambda: SEEN, None)
    two.start()
    two.stop()
    assert not left.exists()


def test_answer_that_is_none_is_refused_in_one_line(folder):
    folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.fspath(socket_path(os.getpid())))
        listening.listen()

        def answer():
            caller, _ = listening.accept()
            with caller:
                caller.sendall(b"\xff{")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(UsageError, match="no answer that can be read"):
            asked(os.getpid())
        thread.join()


def test_descriptor_that_the_program_has_closed_is_left_alone_and_nobody_waits_for_it(tmp_path):
    """As a daemon closes all that it has inherited, whose numbers then belong to its own files."""
    asked = Answering(lambda: None, None)
    asked.start()
    number = asked._socket.fileno()
    os.close(number)
    mine = os.open(tmp_path / "log", os.O_RDWR | os.O_CREAT)
    assert mine == number

    asked.stop()

    assert asked._working.acquire(timeout=60)  # its thread has ended
    os.write(mine, b"mine")  # nobody has closed it
    os.close(mine)
