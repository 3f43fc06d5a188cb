"""What is not to be reported: by argument and by project file."""

from __future__ import annotations

import pytest

from leakguard import LeakGuard
from leakguard.errors import UsageError
from leakguard.live.project_settings import project_ignores


def project(folder, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(text)


def test_patterns_of_argument_and_project_are_both_kept(tmp_path, monkeypatch):
    project(tmp_path, "[tool.leakguard]\nignore = ['app.Cache', 'app.Env']\n")
    monkeypatch.chdir(tmp_path)
    with LeakGuard(ignore=["app.Env"]) as guard:
        assert guard.run.info.ignore == ("app.Env", "app.Cache")


def test_project_file_above_the_working_folder_counts(tmp_path):
    project(tmp_path, "[tool.leakguard]\nignore = ['app.*']\n")
    inside = tmp_path / "src" / "app"
    inside.mkdir(parents=True)
    assert project_ignores(inside) == ("app.*",)


@pytest.mark.parametrize("text", ["", "[tool.other]\n", "not toml [", "tool = 3\n"])
def test_project_that_says_nothing_ignores_nothing(tmp_path, text):
    project(tmp_path, text)
    assert project_ignores(tmp_path) == ()


@pytest.mark.parametrize("value", ["'app.Env'", "[3]", "{a = 1}"])
def test_setting_that_is_no_list_of_texts_is_refused(tmp_path, value):
    project(tmp_path, f"[tool.leakguard]\nignore = {value}\n")
    with pytest.raises(UsageError, match="ignore"):
        project_ignores(tmp_path)


def test_one_text_instead_of_a_list_is_refused():
    with pytest.raises(UsageError, match="write ignore="):
        LeakGuard(ignore="app.Env")
