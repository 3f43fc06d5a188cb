"""``leakguard snapshot`` asks another process, which goes on with its work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from leakguard import LeakGuard, UsageError
from leakguard.cli import main
from leakguard.live.call import socket_path

PROGRAM = """
import signal, sys, time
from leakguard import LeakGuard

class Session: pass

class Server:
    def __init__(self):
        self.sessions = []

def serve():
    server = Server()
    with LeakGuard(out=sys.argv[1], on_signal=signal.SIGUSR1):
        server.sessions.extend(Session() for _ in range(5000))
        print("ready", flush=True)
        while not sys.stdin.readline():
            pass
    print("done", flush=True)

serve()
"""


def test_running_process_says_who_holds_what_and_goes_on(tmp_path, capsys):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "run.jsonl")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            assert main(["snapshot", str(process.pid)]) == 0
            said, _ = process.communicate("stop\n", timeout=60)
        finally:
            process.kill()
    assert said == "done\n"
    assert process.returncode == 0
    printed = capsys.readouterr().out
    assert "MEMORY SNAPSHOT: Requested by leakguard snapshot" in printed
    assert "Server.sessions[*]" in printed
    assert "5,000" in printed
    assert not socket_path(process.pid).exists()


def test_process_without_a_listening_guard_is_seen_from_outside(capsys):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        try:
            assert main(["snapshot", str(process.pid)]) == 0
        finally:
            process.kill()
    shown = capsys.readouterr()
    assert f"process {process.pid}, observed from outside" in shown.out
    assert "RSS (actual RAM)" in shown.out
    assert "LeakGuard(out=..., on_signal='SIGUSR1')" in shown.err
    assert shown.err.count("\n") == 1


def test_number_of_no_process_is_refused_in_one_line(capsys):
    assert main(["snapshot", "999999999"]) == 2
    assert capsys.readouterr().err == "leakguard: there is no process 999999999\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_largest_mappings_add_up_to_the_memory_of_the_process():
    from leakguard.capture.outside import largest_mappings, outside_view

    command = [sys.executable, "-c", "print(flush=True); input()"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:
        try:
            process.stdout.readline()
            parts = largest_mappings(process.pid, most=1000)
            whole = outside_view(process.pid)
        finally:
            process.kill()
    assert sum(rss for _, rss, _ in parts) == pytest.approx(whole["rss"], rel=0.2)


def test_handler_of_before_is_put_back(tmp_path):
    before = signal.getsignal(signal.SIGUSR1)
    with LeakGuard(out=tmp_path / "run.jsonl", on_signal=signal.SIGUSR1):
        assert signal.getsignal(signal.SIGUSR1) is not before
    assert signal.getsignal(signal.SIGUSR1) == before


def test_signal_in_the_middle_of_a_look_is_answered_after_it(tmp_path):
    pending = [signal.SIGUSR1]

    def interrupt() -> int:
        if pending:
            os.kill(os.getpid(), pending.pop())
        return 1

    guard = LeakGuard(out=tmp_path / "run.jsonl", on_signal=signal.SIGUSR1)
    guard.gauge("interrupts", interrupt)
    with guard:
        pass
    assert [s.label for s in guard.run.snapshots] == ["Run started", "Requested by a signal"]


def test_listening_without_a_file_is_refused():
    with pytest.raises(UsageError, match="needs out="):
        LeakGuard(on_signal=signal.SIGUSR1)
