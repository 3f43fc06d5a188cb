"""``leakguard audit``: what is installed or locked against the known leaks."""

from __future__ import annotations

import io
import json
import sys
from types import SimpleNamespace

import pytest

from leakguard.cli import main

LEAKY, FIXED = "numpy==2.3.1\n", "numpy==2.5.1\norjson==3.10.0\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leaky.txt").write_text("# ours\n" + LEAKY, encoding="utf-8")
    (tmp_path / "fixed.txt").write_text(FIXED, encoding="utf-8")
    return tmp_path


def add_distribution(folder, name, version):
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (info / "METADATA").write_text(text, encoding="utf-8")


def test_leaky_release_is_told_with_its_line_fix_and_source(folder, capsys):
    assert main(["audit", "leaky.txt"]) == 1
    out = capsys.readouterr().out
    assert "FOUND: " in out
    assert "numpy 2.3.1 (line 2): numpy-datetime-hash" in out
    assert "Fix: Update numpy to 2.3.2 or later." in out
    assert "Source: https://github.com/numpy/numpy/issues/29397" in out


def test_fixed_releases_are_fine(folder, capsys):
    assert main(["audit", "fixed.txt"]) == 0
    assert "NONE: no known leak in 2 packages" in capsys.readouterr().out


def test_releases_that_are_not_pinned_are_named_and_not_judged(folder, capsys):
    (folder / "loose.txt").write_text("numpy>=1\npandas\n", encoding="utf-8")
    assert main(["audit", "loose.txt"]) == 0
    assert "so not looked at: numpy, pandas" in capsys.readouterr().out


def test_pip_freeze_is_read_from_standard_input(folder, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(LEAKY.encode())))
    assert main(["audit", "-"]) == 1
    assert "leakguard audit: standard input" in capsys.readouterr().out


def test_environment_of_this_interpreter_is_looked_at_without_a_path(folder, capsys):
    assert main(["audit", "--format", "json"]) in (0, 1)
    [told] = json.loads(capsys.readouterr().out)["audits"]
    assert told["packages"] > 10


def test_folder_of_packages_and_a_virtual_environment_are_read(folder, capsys):
    add_distribution(folder / "site", "Pillow", "5.0.0")
    assert main(["audit", "site"]) == 1
    assert "Pillow 5.0.0: pillow-webp-open" in capsys.readouterr().out
    environment = folder / "env"
    add_distribution(environment / "lib" / "python3.14" / "site-packages", "numpy", "2.5.1")
    (environment / "pyvenv.cfg").write_text("home = /usr\nversion = 3.14.2\n", encoding="utf-8")
    assert main(["audit", "env"]) == 1
    out = capsys.readouterr().out
    assert "python 3.14.2: python-incremental-collector" in out
    assert "1 known leak in 1 of 2 packages" in out


def test_leaks_that_no_release_ends_are_told_when_all_is_asked(folder, capsys):
    (folder / "use.txt").write_text("botocore==1.34.0\n", encoding="utf-8")
    assert main(["audit", "use.txt"]) == 0
    assert main(["audit", "use.txt", "--all"]) == 1
    assert "botocore-session-handlers" in capsys.readouterr().out


def test_ignored_leaks_are_left_out_and_a_wrong_name_is_said(folder, capsys):
    (folder / "one.txt").write_text("pillow==9.2.0\n", encoding="utf-8")
    assert main(["audit", "one.txt", "--ignore", "pillow-text"]) == 0
    assert main(["audit", "one.txt", "--ignore", "pillow-tex"]) == 2
    assert "no known leak is called 'pillow-tex'" in capsys.readouterr().err


@pytest.mark.parametrize("path", ["missing.txt", "empty", "binary.txt"])
def test_what_cannot_be_used_is_one_line_and_hides_no_other(path, folder, capsys):
    (folder / "empty").mkdir()
    (folder / "binary.txt").write_bytes(b"\xff\xfe\x00")
    assert main(["audit", path, "leaky.txt"]) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1 and path in said.err
    assert "numpy-datetime-hash" in said.out


@pytest.mark.parametrize("name", ["markdown", "json", "sarif"])
def test_every_format_names_the_leak_and_its_source(name, folder, capsys):
    assert main(["audit", "leaky.txt", "--format", name]) == 1
    out = capsys.readouterr().out
    assert "https://github.com/numpy/numpy/issues/29397" in out
    assert "2.3.1" in out


def test_explain_tells_what_is_known_of_a_library(capsys):
    assert main(["explain", "orjson"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("orjson: ")
    assert "orjson-datetime-zone" in out
    assert main(["explain", "orjson-numpy-dtype"]) == 0
    assert "orjson-datetime-zone" not in capsys.readouterr().out
