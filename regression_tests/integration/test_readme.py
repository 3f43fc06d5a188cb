"""What the README shows happens as it is shown there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_README = (_ROOT / "README.md").read_text(encoding="utf-8")
_SCRIPT = """
import time

class Rollout:
    def __init__(self):
        self.frames = bytearray(400_000)

history = {}

def evaluate(generation):
    history[generation] = Rollout()
    time.sleep(0.02)

for generation in range(200):
    evaluate(generation)
""".lstrip("\n")
_MARKED = re.compile(r"best\.append\(rollout\).*")


def section(title: str) -> str:
    return _README.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def train(folder: Path, program: str) -> list[str]:
    (folder / "train.py").write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "train.py"], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
    return done.stderr.splitlines()


def without_sizes(lines: list[str]) -> list[str]:
    """The words; memory that rises and falls by itself says how little of it would not show."""
    return re.sub(r"[\d.]+ [kMG]?B\b", "SIZE", " ".join(" ".join(lines).split())).split()


def test_first_leak_is_told_as_the_readme_says_and_gone_after_the_fix(tmp_path):
    [program] = re.findall(r"```python\n(.*?)```", section("Your first leak"), re.DOTALL)
    leak, healthy = re.findall(r"```\n(leakguard: .*?)```", section("Your first leak"), re.DOTALL)
    said = train(tmp_path, program)
    promised = leak.splitlines()
    for line in (
        promised[0],
        *(line for line in promised if re.match("  (Held|Created|Fix)", line)),
    ):
        assert line in said
    fixed = _MARKED.sub("best[:] = [rollout]", program)
    assert without_sizes(train(tmp_path, fixed)) == without_sizes(healthy.splitlines())


def test_script_that_is_not_changed_is_told_as_the_readme_says(tmp_path):
    (tmp_path / "train.py").write_text(_SCRIPT, encoding="utf-8")
    told = section("A script that you may not change")
    [command] = re.findall(r"```\nleakguard (run .*)\n```", told)
    done = subprocess.run(
        [sys.executable, "-m", "leakguard", *command.split()],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    [promised] = re.findall(r"```\n(leakguard: .*?)```", told, re.DOTALL)
    words = without_sizes(promised.splitlines())
    assert without_sizes(done.stderr.splitlines())[: len(words)] == words
