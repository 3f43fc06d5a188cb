"""The steps of the GitHub workflow, run as they are written in a fresh copy."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")
pytest.importorskip("torch")
pytestmark = pytest.mark.timeout(900)  # two whole trainings, maybe on a busy machine

REPOSITORY = Path(__file__).parents[2]
WORKFLOW = Path(".github/workflows/memory.yml")
WORKFLOWS = sorted((REPOSITORY / ".github/workflows").glob("*.yml"))
NOT_COPIED = (".git", ".venv", "__pycache__", "build", "runs", "reports", "*.egg-info")
# Set to run the Install step too, which loads every package anew.
INSTALL = "LEAKGUARD_TEST_INSTALL"


@dataclass(frozen=True)
class Job:
    """What a job of the workflow did: exit status and output of each step, and its summary."""

    steps: dict[str, tuple[int, str]]
    summary: str
    clone: Path

    @property
    def green(self) -> bool:
        return all(status == 0 for status, _ in self.steps.values())


def run_workflow(place: Path, leak: str) -> Job:
    """Copy and run; after a failed step only those with ``if: always()`` run.

    A copy has the compiled scan, which a clone gets in the Install step only.
    """
    clone, summary = place / "clone", place / "summary.md"
    shutil.copytree(REPOSITORY, clone, ignore=shutil.ignore_patterns(*NOT_COPIED))
    workflow = yaml.safe_load((clone / WORKFLOW).read_text())
    assert workflow["env"] == {"LEAK": "${{ inputs.leak }}"}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {
        **os.environ, "PATH": path, "PYTHONPATH": str(clone), "LEAK": leak,
        "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary),
    }  # fmt: skip
    steps: dict[str, tuple[int, str]] = {}
    for step in workflow["jobs"]["memory"]["steps"]:
        failed = any(status for status, _ in steps.values())
        skipped = step.get("name") == "Install" and not os.environ.get(INSTALL)
        if "run" not in step or skipped or (failed and step.get("if") != "always()"):
            continue
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        ran = subprocess.run(shell, cwd=clone, env=environment, capture_output=True, text=True)
        steps[step["name"]] = (ran.returncode, ran.stdout + ran.stderr)
    return Job(steps, summary.read_text() if summary.exists() else "", clone)


def test_healthy_training_is_green_with_a_summary(tmp_path):
    job = run_workflow(tmp_path, leak="")
    assert job.green, job.steps
    assert "::notice title=Memory budget::PASSED" in job.steps["Check the memory budget"][1]
    assert "PASSED" in job.summary
    assert (job.clone / "runs/ci/report.html").stat().st_size > 10_000


def test_leak_is_red_with_annotations_summary_and_report(tmp_path):
    job = run_workflow(tmp_path, leak="env-per-episode")
    assert job.steps["Train"][0] == 0, job.steps["Train"]
    status, output = job.steps["Check the memory budget"]
    assert status == 1
    assert re.search("::error [^:]*title=Memory budget%3A live TradingEnvironment::98", output)
    assert "Held by: " in output
    assert "FAILED" in job.summary
    assert "LEAK DETECTED" in job.summary
    assert job.steps["Write the report"][0] == 0
    assert "TradingEnvironment" in (job.clone / "runs/ci/report.html").read_text()


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_every_action_is_pinned_by_version(workflow):
    jobs = yaml.safe_load(workflow.read_text())["jobs"].values()
    used = [step["uses"] for job in jobs for step in job["steps"] if "uses" in step]
    assert used
    assert all(len(name.rsplit("@v", 1)[-1].split(".")) == 3 for name in used), used
