"""Programs with a guard that train to their end and say so, in processes to which faults happen."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PATIENCE = 280  # seconds; a machine that has much else to do takes long for a second of work
LOOP = """
import gc, os, signal, sys, threading
from leakguard import LeakGuard, phase
from leakguard.live.active import open_phases
out = sys.argv[1]
{before}
guard = LeakGuard(out=out, report=None, {arguments})
with guard:
    for number in guard.generations(range(1, {rounds} + 1)):
        with guard.phase("work"):
{body}
assert open_phases() == () and gc.isenabled()
print("trained on to the end", flush=True)
"""


def program(before="", body="pass", arguments="", rounds=12) -> str:
    body = textwrap.indent(textwrap.dedent(body), " " * 12)
    return LOOP.format(
        before=textwrap.dedent(before), body=body, arguments=arguments, rounds=rounds
    )


def trained(
    out: Path, *, prefix=(), cwd: Path | None = None, **code
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*prefix, sys.executable, "-c", program(**code), str(out)], text=True, timeout=PATIENCE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LC_ALL": "C"},
        capture_output=True, cwd=cwd or out.parent,
    )  # fmt: skip


def went_on(done: subprocess.CompletedProcess[str]) -> bool:
    return done.returncode == 0 and done.stdout.endswith("trained on to the end\n")


def in_namespace(*mounts: str) -> list[str]:
    """Return a command that runs another one with file systems of its own, or skip."""
    probe = ["unshare", "--mount", "sh", "-c", f"{' && '.join(mounts)}"]
    if shutil.which("unshare") is None or subprocess.run(probe, capture_output=True).returncode:
        pytest.skip("this user may not mount a file system")
    return ["unshare", "--mount", "sh", "-c", f'{" && ".join(mounts)} && exec "$0" "$@"']
