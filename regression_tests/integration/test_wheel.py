"""The wheel works in an environment that has nothing but it and what it depends on."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_SOURCES = (
    "leakguard",
    "reference_trainer",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "MANIFEST.in",
)
_LOOP = """
from leakguard import LeakGuard
kept = []
guard = LeakGuard(out="run.jsonl")
with guard:
    for generation in guard.generations(range(8)):
        with guard.phase("train"):
            kept.append([bytearray(100_000) for _ in range(20)])
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment with the wheel, outside of the checkout.

    What the wheel depends on is taken from the environment of the tests, so that no index is asked.
    """
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in _SOURCES:
        if (_ROOT / name).is_dir():
            shutil.copytree(
                _ROOT / name, source / name, ignore=shutil.ignore_patterns("*.so", "__pycache__")
            )
        else:
            shutil.copy(_ROOT / name, source)
    _run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
          "--wheel-dir", "dist", "."], source)  # fmt: skip
    [wheel] = (source / "dist").glob("leakguard_training-*.whl")
    _run([sys.executable, "-m", "venv", "--without-pip", "environment"], folder)
    environment = folder / "environment"
    python = environment / "bin" / "python"
    _run([sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps",
          "--no-index", str(wheel)], folder)  # fmt: skip
    [site] = environment.glob("lib/*/site-packages")
    for name in _dependencies():
        (site / name.name).symlink_to(name)
    return python


def _dependencies() -> list[Path]:
    packages = Path(sysconfig.get_path("purelib"))
    wanted = ("click", "jinja2", "markupsafe", "msgspec", "psutil", "rich", "pygments", "mdurl",
              "markdown_it", "packaging", "tomli")  # fmt: skip
    return [packages / name for name in wanted if (packages / name).is_dir()]


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_wheel_records_a_leak_and_reports_it_in_every_text_format(
    python: Path, tmp_path: Path
) -> None:
    _run([str(python), "-c", _LOOP], tmp_path)
    command = str(python.parent / "leakguard")
    report = json.loads(_run([command, "report", "run.jsonl", "--format", "json"], tmp_path))
    assert report["verdict"] == "leak"
    assert report["findings"][0]["held_by"].startswith("__main__.kept[*]")
    for name in ("terminal", "markdown", "html", "junit", "github"):
        assert "kept" in _run([command, "report", "run.jsonl", "--format", name], tmp_path)


def test_wheel_holds_the_compiled_walk_and_every_file_that_is_no_code(python: Path) -> None:
    look = "from leakguard.capture.heap import _scan; print(_scan.__file__)"
    assert "environment" in _run([str(python), "-c", look], python.parent)
    [installed] = python.parents[1].glob("lib/*/site-packages/leakguard")
    data = {
        path.relative_to(_ROOT / "leakguard")
        for path in (_ROOT / "leakguard").rglob("*")
        if path.suffix in {".j2", ".css", ".js", ".json", ".typed", ".toml", ".md"}
    }
    assert data and not [path for path in data if not (installed / path).exists()]
