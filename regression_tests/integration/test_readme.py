"""The README's first leak happens as it is told there, and its files and commands exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from leakguard import cli

_ROOT = Path(__file__).parents[2]
_README = (_ROOT / "README.md").read_text(encoding="utf-8")
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
    return re.sub(r"[\d.]+ [kMG]?B\b", "SIZE", " ".join(lines)).split()


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


def test_files_that_the_readme_points_to_exist():
    linked = re.findall(r"\]\((?!https?://)([^)#]+)\)", _README)
    assert len(linked) > 10
    assert [name for name in linked if not (_ROOT / name).exists()] == []


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_is_told(name):
    assert f"leakguard {name}" in _README


def test_commands_and_options_that_the_readme_tells_exist():
    with click.Context(cli.program) as context:
        known = {name: cli.program.get_command(context, name) for name in cli.COMMANDS}
    told = re.findall(
        r"(?<!from )leakguard (?!import)(\w+) ([^\n`#]*)",
        "\n".join(re.findall(r"```.*?```", _README, re.S)),
    )
    assert told
    for name, arguments in told:
        assert name in known
        options = {option for parameter in known[name].params for option in parameter.opts}
        if name == "run":  # what follows the script is the script's own
            arguments = re.split(r"\S+\.py\b", arguments)[0]
        assert set(re.findall(r"(?<!\S)--[\w-]+", arguments)) <= options, name


def test_map_of_the_layout_is_the_territory():
    named = set(
        re.findall(
            r"`((?:leakguard|reference_trainer|regression_tests)[\w./]*)`", section("Layout")
        )
    )
    assert len(named) > 15
    assert [name for name in named if not (_ROOT / name).exists()] == []
    folders = {f"leakguard/{f.parent.name}" for f in (_ROOT / "leakguard").glob("*/__init__.py")}
    assert folders <= named
