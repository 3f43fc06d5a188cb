"""One small suite, run once with the plugin in a process of its own; many tests ask about it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

PROGRAM = Path(__file__).with_name("program.py")


@dataclass(frozen=True)
class Ran:
    """What a run of pytest printed, and what became of each test: (outcome, message)."""

    printed: str
    outcomes: Mapping[str, tuple[str, str]]
    folder: Path

    def of(self, test: str) -> str:
        return self.outcomes[test][0]

    def message(self, test: str) -> str:
        return self.outcomes[test][1]


def run_pytest(folder: Path, *options: str, ini: str = "", **environment: str) -> Ran:
    """Run the tests in ``folder`` with no plugin but ours and those in ``options``."""
    (folder / "pytest.ini").write_text(f"[pytest]\n{ini}\n")
    results = folder / "results.xml"
    command = [sys.executable, "-m", "pytest", "-p", "leakguard.integrations.pytest_plugin",
               "-p", "no:cacheprovider", f"--junitxml={results}", *options]  # fmt: skip
    settings = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environment}
    settings.pop("PYTEST_ADDOPTS", None)
    ran = subprocess.run(
        command, cwd=folder, env=settings, capture_output=True, text=True, timeout=600
    )
    cases = ET.parse(results).iter("testcase")
    return Ran(
        ran.stdout + ran.stderr, {case.get("name"): _outcome(case) for case in cases}, folder
    )


def _outcome(case: ET.Element) -> tuple[str, str]:
    for name in ("failure", "error", "skipped"):
        found = case.find(name)
        if found is not None:
            return name, f"{found.get('message')}\n{found.text}"
    return "passed", ""


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The program, run once, with reports."""
    folder = tmp_path_factory.mktemp("suite")
    (folder / "test_program.py").write_text(PROGRAM.read_text())
    return run_pytest(folder, "--leakguard-report=memory", GITHUB_ACTIONS="true")


@pytest.fixture
def suite(tmp_path: Path) -> Callable[..., Ran]:
    """Return a function that runs a test file of its own."""

    def run(body: str, *options: str, **more: str) -> Ran:
        (tmp_path / "test_own.py").write_text(body)
        return run_pytest(tmp_path, *options, **more)

    return run
