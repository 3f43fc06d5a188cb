"""`make demo`, which the README shows first: a healthy run is stable, a leaking one a leak."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import leakguard

MAKEFILE = Path(__file__).parents[2] / "Makefile"


def trained(*leak: str) -> list[str]:
    """Return the command of the demo, as the Makefile has it."""
    (told,) = re.findall(r"^TRAIN = \$\(BIN\)/python (.*)$", MAKEFILE.read_text(), re.MULTILINE)
    return [sys.executable, *told.split(), *leak]


@pytest.mark.parametrize(
    ("leak", "verdict"), [((), "stable"), (("--leak", "env-per-episode"), "leak")]
)
def test_the_demo_tells_a_healthy_run_from_a_leaking_one(leak, verdict, tmp_path):
    subprocess.run([*trained(*leak), "--out", tmp_path], check=True, capture_output=True)
    report = leakguard.diagnose(leakguard.load(tmp_path / "run.jsonl"))
    assert report.verdict == verdict, [finding.reason for finding in report.findings]
    leaks = [finding.type for finding in report.findings if finding.verdict == "leak"]
    assert leaks[:1] == (["reference_trainer.environment.TradingEnvironment"] if leak else [])
