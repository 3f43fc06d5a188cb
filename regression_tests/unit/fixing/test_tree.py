"""The copy of a program has what the user has now, and the user's folder stays as it is."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from leakguard.errors import UsageError
from leakguard.fixing import tree as tree_module
from leakguard.fixing.tree import copied, patched

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder, *words):
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def state(folder):
    """Return the files of a folder with their bytes."""
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


@pytest.fixture
def repository(tmp_path):
    """A repository with one changed, one deleted, one new and one ignored file."""
    folder = tmp_path / "repository"
    (folder / "part").mkdir(parents=True)
    for name in ("train.py", "old.py", "part/model.py"):
        (folder / name).write_text("a = 1\n")
    (folder / ".gitignore").write_text("data/\n")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    (folder / "train.py").write_text("a = 2\n")
    (folder / "old.py").unlink()
    (folder / "part/new.py").write_text("b = 1\n")
    (folder / "data").mkdir()
    (folder / "data/big.bin").write_bytes(b"0")
    return folder


@needs_git
def test_uncommitted_changes_are_in_the_copy_of_a_repository(repository):
    with copied(repository / "part") as tree:
        assert tree.origin == repository.resolve() and tree.folder == tree.root / "part"
        assert (tree.root / "train.py").read_text() == "a = 2\n"
        assert (tree.folder / "new.py").read_text() == "b = 1\n"
        assert not (tree.root / "old.py").exists() and not (tree.root / "data").exists()


@needs_git
def test_folder_of_the_user_stays_as_it_is_and_the_copy_is_removed(repository):
    files = {name: text for name, text in state(repository).items() if not name.startswith(".git/")}
    status = git(repository, "status", "--porcelain")
    with copied(repository) as tree:
        (tree.root / "train.py").write_text("changed\n")
        root = tree.root
    left = {name: text for name, text in state(repository).items() if not name.startswith(".git/")}
    assert left == files and git(repository, "status", "--porcelain") == status
    assert not root.exists()
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_folder_without_a_repository_is_copied_whole(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/a.py").write_text("a\n")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv/x").write_text("x\n")
    with copied(tmp_path) as tree:
        assert state(tree.root) == {"lib/a.py": b"a\n"}
        assert tree.moved(f"{tmp_path.resolve()}/lib/a.py") == f"{tree.root}/lib/a.py"
        assert tree.moved(f"{tmp_path.resolve()}-other") == f"{tmp_path.resolve()}-other"


def test_folder_that_is_too_large_is_refused_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(tree_module, "_MOST_FILES", 1)
    for name in "ab":
        (tmp_path / name).write_text("")
    with pytest.raises(UsageError, match="more than 1 files"), copied(tmp_path):
        pass


@needs_git
def test_patch_is_applied_in_the_copy_alone(repository, tmp_path):
    patch = tmp_path / "change.diff"
    patch.write_text("--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@\n-a = 2\n+a = 3\n")
    with copied(repository) as tree:
        patched(tree.root, patch)
        assert (tree.root / "train.py").read_text() == "a = 3\n"
        with pytest.raises(UsageError, match="git cannot do it: error: patch failed"):
            patched(tree.root, patch)
    assert (repository / "train.py").read_text() == "a = 2\n"
