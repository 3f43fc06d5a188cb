"""What the README shows happens as it is shown there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_README = (_ROOT / "README.md").read_text(encoding="utf-8")
_MARKED = re.compile(r"best\.append\(.*")


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
    """The words: how little growth would go undetected depends on the noise of the memory."""
    return re.sub(r"[\d.]+ [kMG]?B\b", "SIZE", " ".join(" ".join(lines).split())).split()


def test_first_leak_is_reported_as_the_readme_says_and_gone_after_the_fix(tmp_path):
    [program] = re.findall(r"```python\n(.*?)```", section("Your first leak"), re.DOTALL)
    leak, healthy = re.findall(r"^(leakguard: .*?)```", section("Your first leak"), re.M | re.S)
    said = train(tmp_path, program)
    promised = leak.splitlines()
    for line in (
        promised[0],
        *(line for line in promised if re.match("  (Held|Created|Fix)", line)),
    ):
        assert line in said
    fixed = _MARKED.sub("best[:] = [Rollout()]", program)
    assert without_sizes(train(tmp_path, fixed)) == without_sizes(healthy.splitlines())


def test_script_that_is_not_changed_is_reported_as_the_readme_says(tmp_path):
    shown = section("A script that you may not change")
    [script] = re.findall(r"```python\n(.*?)```", shown, re.DOTALL)
    [(command, promised)] = re.findall(
        r"```\n\$ leakguard (run [^\n]*)\n(.*?)```", shown, re.DOTALL
    )
    (tmp_path / command.split()[-1]).write_text(script, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "leakguard", *command.split()],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    words = without_sizes(promised.splitlines())
    assert without_sizes(done.stderr.splitlines())[: len(words)] == words
