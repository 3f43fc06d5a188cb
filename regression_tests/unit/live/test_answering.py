"""Who is answered, and who is believed, when a process is asked for a look."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from leakguard import UsageError
from leakguard.cli import main
from leakguard.errors import NobodyListens
from leakguard.live.answering import Answering
from leakguard.live.call import ask, socket_path
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
    with pytest.raises(NobodyListens):
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
    with pytest.raises(NobodyListens, match="not a private folder"):
        asked(os.getpid())
    folder.rename(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").chmod(0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PermissionError):
        Answering(lambda: SEEN, None).start()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_is_told_only_that(answering, folder):
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
    """Return 0 where a refusal comes and nothing else, 1 where more does, 2 where it failed."""
    try:
        path.chmod(0o777)
        path.parent.chmod(0o755)
        os.chdir(path.parent)  # folders above may be closed
        os.setuid(65534)
        with socket.socket(socket.AF_UNIX) as call:
            call.settimeout(20)
            call.connect(path.name)
            told = json.loads(call.recv(1000))
            return int(told != {"version": 1, "problem": "it answers its own user only"})
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
    answering.stop()
    answering.start()
    assert not left.exists()


@pytest.fixture
def impostor(folder):
    """Return a function that has this process answer the next caller with some bytes."""
    folder.mkdir(mode=0o700)
    threads = []

    def answering_with(said):
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(os.fspath(socket_path(os.getpid())))
        listening.listen()

        def answer():
            with listening:
                caller, _ = listening.accept()
            with caller:
                caller.recv(1000)
                caller.sendall(said)

        threads.append(threading.Thread(target=answer))
        threads[-1].start()

    yield answering_with
    for thread in threads:
        thread.join()


BAD_ANSWERS = {
    b"": "ended in the middle of a message",
    b'{"version": 1, "told": {"snap': "ended in the middle of a message",
    b"\xff{\n": "sent no message that can be read",
    b"[" * 100_000 + b"\n": "sent no message that can be read",
    b"[1]\n": "sent no message that can be read",
    b'{"told": 1}\n': "speaks version None of the protocol, and not 1",
    b'{"version": 2, "told": 1}\n': "speaks version 2 of the protocol, and not 1",
    b'{"version": 1}\n': "sent no snapshot that can be read",
    b'{"version": 1, "told": {"end": {}}}\n': "sent no snapshot that can be read",
    b'{"version": 1, "told": {"snapshot": {"serial": 1, "label": "x"}}, "out": 7}\n': (
        "sent no snapshot that can be read"
    ),
    b'{"version": 1, "problem": "no"}\n': "cannot answer: no",
}


@pytest.mark.parametrize("said", BAD_ANSWERS, ids=range(len(BAD_ANSWERS)))
def test_answer_that_is_none_is_refused_in_one_line(impostor, said, capsys):
    impostor(said)
    assert main(["snapshot", str(os.getpid())]) == 2
    told = capsys.readouterr()
    assert told.err == f"leakguard: process {os.getpid()} {BAD_ANSWERS[said]}\n"
    assert told.out == ""


def test_process_that_does_not_answer_in_time_is_left(impostor, folder, capsys):
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.fspath(socket_path(os.getpid())))
        listening.listen()
        assert main(["snapshot", "--wait", "0.2", str(os.getpid())]) == 2
    told = capsys.readouterr().err
    assert "did not answer within 0.2 s" in told
    assert told.count("\n") == 1


ENDS = """
import os, socket, sys
listening = socket.socket(socket.AF_UNIX)
listening.bind(sys.argv[1].replace("PID", str(os.getpid())))
listening.listen()
print(flush=True)
caller, _ = listening.accept()
caller.recv(1000)
caller.sendall(b'{"version": 1, "told": {')
os.kill(os.getpid(), 9)
"""


def test_process_that_is_killed_while_it_answers_is_told_in_one_line(folder, capsys):
    folder.mkdir(mode=0o700)
    command = [sys.executable, "-c", ENDS, f"{folder}/PID.sock"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        assert main(["snapshot", str(process.pid)]) == 2
    told = capsys.readouterr().err
    assert told == f"leakguard: process {process.pid} ended in the middle of a message\n"


BAD_REQUESTS = {
    b"\xff\n": "the other process sent no message that can be read",
    b'{"ask": "look"}\n': "the other process speaks version None of the protocol, and not 1",
    b'{"version": 2, "ask": "look"}\n': (
        "the other process speaks version 2 of the protocol, and not 1"
    ),
    b'{"version": 1, "ask": "money"}\n': "it can be asked for a look only",
    b'{"version": 1, "ask": {}}\n': "it can be asked for a look only",
    b" " * 200_000 + b"\n": "the other process sent too long a message",
}


@pytest.mark.parametrize("said", BAD_REQUESTS, ids=range(len(BAD_REQUESTS)))
def test_bad_request_is_answered_with_its_problem_and_the_next_caller_is_answered(answering, said):
    with socket.socket(socket.AF_UNIX) as call:
        call.connect(os.fspath(socket_path(os.getpid())))
        call.sendall(said)
        told = call.recv(1000)
    assert json.loads(told) == {"version": 1, "problem": BAD_REQUESTS[said]}
    assert asked(os.getpid())[0] == SEEN


def test_caller_that_hangs_up_ends_no_program_that_has_sigpipe_at_its_default(folder):
    long = Snapshot(7, "x" * 3_000_000)
    one, before = Answering(lambda: long, None), signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    one.start()
    try:
        with socket.socket(socket.AF_UNIX) as call:
            call.connect(os.fspath(socket_path(os.getpid())))
            call.sendall(b'{"version": 1, "ask": "look"}\n')
            call.recv(10)
        assert asked(os.getpid())[0] == long
    finally:
        one.stop()
        signal.signal(signal.SIGPIPE, before)


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
