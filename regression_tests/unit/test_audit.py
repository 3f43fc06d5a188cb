"""``make audit`` tells a vulnerability from a question that nobody answered."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def audit(folder: Path, answer: str) -> subprocess.CompletedProcess[str]:
    """Run ``make audit`` where ``pip-audit`` answers so."""
    for name in ("Makefile", "requirements.in", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    program = folder / ".venv/audit/bin/pip-audit"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{answer}\n", encoding="utf-8")
    program.chmod(0o700)
    (folder / ".venv/.ready").touch()
    # Not as a part of a ``make`` that may run this: it would tell the folders that it enters.
    alone = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))
    }
    return subprocess.run(
        ["make", "audit"], cwd=folder, env=alone, capture_output=True, text=True, check=False
    )


def test_no_known_vulnerability_is_said_in_one_line(tmp_path):
    done = audit(tmp_path, "echo No known vulnerabilities found >&2")
    assert done.returncode == 0
    assert done.stderr + done.stdout == "No known vulnerabilities found\n"


def test_known_vulnerability_is_shown_and_fails(tmp_path):
    done = audit(tmp_path, "echo 'jinja2 3.0 CVE-1'; echo 'Found 1 known' >&2; exit 1")
    assert done.returncode != 0
    assert "jinja2 3.0 CVE-1" in done.stdout
    assert done.stderr.splitlines()[0] == "Found 1 known"


def test_service_that_does_not_answer_fails_in_one_line(tmp_path):
    done = audit(tmp_path, "echo 'Traceback (...)' >&2; echo 'Error: no such host' >&2; exit 1")
    assert done.returncode != 0
    told, made = done.stderr.splitlines()
    assert told == "audit: not done, pypi did not answer about every version: Error: no such host"
    assert made.startswith("make: ***")
