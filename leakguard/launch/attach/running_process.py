"""The process to attach to, and the checks whether it can be attached to."""

from __future__ import annotations

import os
import platform
import pwd
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from leakguard.capture.headroom import copy_hindrance
from leakguard.capture.outside import environment_of, process_began
from leakguard.errors import UsageError
from leakguard.launch.attach.foreign_memory import ForeignMemory

_MACHINES = ("x86_64", "aarch64")
_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")
_SCOPES = {
    "1": "kernel.yama.ptrace_scope is 1, which lets a process be attached to by its parents only",
    "2": "kernel.yama.ptrace_scope is 2, which lets root attach only",
    "3": "kernel.yama.ptrace_scope is 3, which lets nobody attach until the next boot",
}
# File names of interpreters. A target with another executable is refused. Attaching would start the
# executable a second time with an interpreter's options. A program that embeds Python could ignore
# the options and do its own work a second time.
_INTERPRETER = re.compile(r"python(\d(\.\d+)?)?[dt]?$")
# Environment variables that an interpreter may need to find its libraries.
_FINDS_ITSELF = ("LD_LIBRARY_PATH", "PYTHONHOME")
# The state of a process in ``/proc/PID/status``, and why a process in it cannot be attached to.
_STATES = {
    "Z": "has ended",
    "X": "has ended",
    "T": "is stopped, and runs nothing; continue it first (kill -CONT)",
    "t": "is stopped by a debugger",
}


@dataclass(frozen=True, slots=True)
class RunningProcess:
    """A running Python process that this user may attach to.

    Attributes:
        pid: its process id.
        began: its start time, as ``process_began`` returns it.
        user: its effective user id.
        group: its effective group id.
        executable: the path of its interpreter, in its own file system.
        own_pid: its process id in its own pid namespace.
        is_elsewhere: True if it has another root or mount namespace than this process.
        environment: the environment variables that its interpreter needs to find its libraries.
    """

    pid: int
    began: float
    user: int
    group: int
    executable: str
    own_pid: int
    is_elsewhere: bool
    environment: dict[str, str]

    @classmethod
    def of(cls, pid: int) -> RunningProcess:
        """Return the process with this number, after checking that it can be attached to.

        Raises:
            UsageError: there is no such process, it does not run Python, or this user may not
                attach to it; the message states what to do.
        """
        _check_here(pid)
        status = _status(pid)
        _check_permission(pid, int(status["Uid"].split()[1]))
        began = process_began(pid)
        if began is None:
            raise UsageError(f"process {pid} has ended")
        hindrance = copy_hindrance(Path(f"/proc/{pid}/fd"))
        if hindrance is not None:
            raise UsageError(f"process {pid} cannot be looked at in a copy of it: {hindrance}")
        return cls(
            pid=pid,
            began=began,
            user=int(status["Uid"].split()[1]),
            group=int(status["Gid"].split()[1]),
            executable=_interpreter(pid),
            own_pid=int(status.get("NSpid", str(pid)).split()[-1]),
            is_elsewhere=_is_elsewhere(pid),
            environment=_environment(pid),
        )

    @property
    def root(self) -> str:
        """The path by which this process reaches the root of the target's file system."""
        return f"/proc/{self.pid}/root"

    def become_its_user(self) -> None:
        """Take on the user and the file system of the target; called in a new child process."""
        if self.is_elsewhere:
            os.chroot(self.root)
        os.chdir("/")
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(self.group)
            os.setuid(self.user)


def _check_here(pid: int) -> None:
    """Raise if attaching is impossible on this machine, or if the process is this one."""
    if not sys.platform.startswith("linux") or platform.machine() not in _MACHINES:
        raise UsageError("attach needs Linux on x86-64 or ARM64; use leakguard run instead")
    if pid == os.getpid():
        raise UsageError(f"process {pid} is this one; give the number of another")


def _status(pid: int) -> dict[str, str]:
    """Return the fields of ``/proc/PID/status``; raise if the process cannot be attached to."""
    try:
        text = Path(f"/proc/{pid}/status").read_text("utf-8", errors="replace")
    except OSError:
        raise UsageError(f"there is no process {pid}") from None
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    if int(fields.get("Tgid", pid)) != pid:
        raise UsageError(f"{pid} is a thread of process {int(fields['Tgid'])}; give that number")
    if (tracer := int(fields.get("TracerPid", 0))) != 0:
        raise UsageError(f"process {pid} is in the hands of a debugger, process {tracer}")
    problem = _STATES.get(fields.get("State", "?").split()[0])
    if problem is not None:
        raise UsageError(f"process {pid} {problem}")
    return fields


def _check_permission(pid: int, user: int) -> None:
    if os.geteuid() not in (0, user):
        raise UsageError(
            f"process {pid} belongs to {_name(user)}; run leakguard attach as that user, or as root"
        )
    try:
        with ForeignMemory(pid):
            return
    except UsageError as refused:
        problem = str(refused)
    try:
        scope = _SCOPE.read_text("ascii").strip()
    except OSError:
        scope = "0"
    if scope in _SCOPES:
        raise UsageError(
            f"{_SCOPES[scope]}; run leakguard attach as root, or set it to 0 by sysctl"
        )
    raise UsageError(
        f"{problem}; in a container, give it the capability SYS_PTRACE, or run leakguard attach "
        "as root on its host"
    )


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


def _interpreter(pid: int) -> str:
    try:
        path = os.readlink(f"/proc/{pid}/exe")  # noqa: PTH115 - a name in another file system
    except OSError:
        raise UsageError(f"process {pid} is a thread of the kernel, and no program") from None
    path, deleted = path.removesuffix(" (deleted)"), path.endswith(" (deleted)")
    name = path.rpartition("/")[2]
    if not _INTERPRETER.match(name):
        raise UsageError(f"process {pid} runs {name}, which is no Python interpreter")
    if deleted:
        raise UsageError(f"{path} was replaced since process {pid} began; restart the process")
    return path


def _is_elsewhere(pid: int) -> bool:
    """Return whether the process has another file system than this process.

    Raises:
        UsageError: it has, and this user may not enter that file system.
    """
    own, its = (Path(f"/proc/{who}/ns/mnt").stat().st_ino for who in ("self", pid))
    roots = [Path(f"/proc/{who}/root").stat() for who in ("self", pid)]
    same = own == its and os.path.samestat(*roots)
    if not same and os.geteuid() != 0:
        raise UsageError(
            f"process {pid} lives in a container; run leakguard attach as root, or inside of it"
        )
    return not same


def _environment(pid: int) -> dict[str, str]:
    """Return only the environment variables by which the interpreter finds its libraries."""
    told = environment_of(pid).items()
    return {name: value for name, value in told if name in _FINDS_ITSELF}
