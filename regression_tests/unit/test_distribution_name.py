"""The index has a stranger's package called leakguard: nothing of ours may tell to install it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from leakguard.errors import DISTRIBUTION, install

tomllib = pytest.importorskip("tomllib")

_ROOT = Path(__file__).parents[2]
_TEXTS = {".py", ".md", ".toml", ".yml", ".yaml", ".in", ".lock", ".txt", ".sh", ".j2", ".html", ""}
_OTHERS = {".git", ".venv", "build", "dist", "runs", "data", "node_modules"}
# The bare name as pip reads it: with extras, with a version, or as an argument of `pip install`.
_STRANGER = re.compile(
    r"(?<![\w./-])leakguard(?=\[\w)"
    r"|^\s*\"?leakguard\s*(?:[=<>~!]=|@ )"
    r"|(?:pip3?|uv|poetry|pipx|conda)\s+(?:install|add)\s[^\n`]*?(?<![\w./-])leakguard(?![\w./-])"
    r"|requirements\S*\s[^\n;|]*(?<![\w./-])leakguard(?![\w./-])",
    re.MULTILINE,
)


def _texts() -> Iterator[Path]:
    for path in sorted(_ROOT.rglob("*")):
        inside = path.relative_to(_ROOT).parts
        ours = not _OTHERS.intersection(inside) and ".egg-info" not in inside[0]
        if ours and path.is_file() and path.suffix in _TEXTS and path != Path(__file__):
            yield path


def test_no_text_tells_to_install_the_other_leakguard() -> None:
    found = [
        f"{path.relative_to(_ROOT)}: {hit[0].strip()}"
        for path in _texts()
        for hit in _STRANGER.finditer(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    ["pip install leakguard", "pip install -U 'leakguard[html]'", "leakguard==1.0", "leakguard[s3]",
     "pip install -r requirements.txt   # with leakguard among them"],
)  # fmt: skip
def test_the_search_knows_what_pip_would_read(text: str) -> None:
    assert _STRANGER.search(text)


@pytest.mark.parametrize(
    "text",
    ["pip install ./leakguard", "pip install 'leakguard-training[html]'", "import leakguard",
     "pip install leakguard-training  # the command is leakguard-check", "tool.leakguard[budget]"],
)  # fmt: skip
def test_the_search_lets_our_own_name_pass(text: str) -> None:
    assert not _STRANGER.search(text)


def test_hints_name_the_distribution_and_an_extra_it_has() -> None:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == DISTRIBUTION != "leakguard"
    named = {
        extra
        for path in _texts()
        if path.suffix == ".py"
        for extra in re.findall(r"\binstall\(\W(\w+)\W\)", path.read_text(encoding="utf-8"))
    }
    assert named and named <= set(project["optional-dependencies"])
    assert install("png") == "pip install 'leakguard-training[png]'"
