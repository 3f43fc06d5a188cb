"""What must be so before a process is attached to, and what is said where it is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from leakguard.cli import main
from leakguard.errors import UsageError
from leakguard.launch.attach import running_process as module
from leakguard.launch.attach.running_process import RunningProcess


@contextmanager
def process_of(*command):
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        try:
            time.sleep(0.2)
            yield process
        finally:
            process.kill()


@pytest.fixture
def python():
    with process_of(sys.executable, "-c", "input()") as process:
        yield process


@pytest.fixture
def no_memory(monkeypatch):
    def refuse(pid):
        raise UsageError(f"the memory of process {pid} cannot be opened: Permission denied")

    monkeypatch.setattr(module, "ForeignMemory", refuse)


def refusal(pid):
    with pytest.raises(UsageError) as error:
        RunningProcess.of(pid)
    return str(error.value)


def test_own_python_is_a_target(python):
    found = RunningProcess.of(python.pid)
    assert Path(found.executable).samefile(f"/proc/{python.pid}/exe")
    assert found.user == os.getuid()
    assert not found.is_elsewhere


def test_number_of_no_process_is_refused():
    assert refusal(2**22 + 1) == f"there is no process {2**22 + 1}"


def test_own_process_is_refused():
    assert refusal(os.getpid()).startswith(f"process {os.getpid()} is this one")


def test_other_program_is_never_started_for_a_rehearsal():
    with process_of("sleep", "100") as process:
        assert refusal(process.pid).endswith("which is no Python interpreter")


def test_stopped_process_is_refused_with_what_to_do(python):
    python.send_signal(signal.SIGSTOP)
    time.sleep(0.1)
    assert "kill -CONT" in refusal(python.pid)


def test_ended_process_is_refused(python):
    python.kill()
    os.waitid(os.P_PID, python.pid, os.WEXITED | os.WNOWAIT)
    assert refusal(python.pid) == f"process {python.pid} has ended"


def test_another_users_process_is_refused_with_what_to_do(python, monkeypatch):
    monkeypatch.setattr(module.os, "geteuid", lambda: os.getuid() + 1)
    assert refusal(python.pid).endswith("run leakguard attach as that user, or as root")


@pytest.mark.parametrize("scope", ["1", "2", "3"])
def test_setting_that_forbids_debugging_is_named(python, no_memory, monkeypatch, tmp_path, scope):
    setting = tmp_path / "ptrace_scope"
    setting.write_text(f"{scope}\n")
    monkeypatch.setattr(module, "_SCOPE", setting)
    assert refusal(python.pid).startswith(f"kernel.yama.ptrace_scope is {scope}, which lets")


def test_missing_capability_is_named(python, no_memory, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "_SCOPE", tmp_path / "no such file")
    assert "the capability SYS_PTRACE" in refusal(python.pid)


def test_other_systems_are_refused(python, monkeypatch):
    monkeypatch.setattr(module.platform, "machine", lambda: "riscv64")
    assert refusal(python.pid).startswith("attach needs Linux on x86-64 or ARM64")


def test_refusal_is_one_line_and_status_2(capsys):
    assert main(["attach", str(2**22 + 1)]) == 2
    assert capsys.readouterr().err == f"leakguard: there is no process {2**22 + 1}\n"


def test_detach_says_where_nobody_is_attached(capsys):
    assert main(["detach", str(os.getpid())]) == 2
    assert capsys.readouterr().err == f"leakguard: nobody is attached to process {os.getpid()}\n"
