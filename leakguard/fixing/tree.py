"""A copy of the program's folder, in which a change is made and the command runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from leakguard.errors import UsageError
from leakguard.model.units import format_bytes

_LEFT_OUT = {".git", ".hg", "__pycache__", ".venv", "venv", "node_modules", ".tox", ".mypy_cache"}
# A folder that is no repository may be a home folder; more than this is no program.
_MOST_FILES = 20_000
_MOST_BYTES = 1_000_000_000


@dataclass(frozen=True)
class Tree:
    """A copy.

    Attributes:
        origin: the folder that was copied: the repository, or the folder itself.
        root: where its copy is.
        folder: the copy of the folder in which the command runs.
    """

    origin: Path
    root: Path
    folder: Path

    def moved(self, word: str) -> str:
        """Return a word of a command with the origin's absolute path replaced by the copy's."""
        origin = os.fspath(self.origin)
        if word == origin or word.startswith(origin + os.sep):
            return os.fspath(self.root) + word[len(origin) :]
        return word


@contextmanager
def copied(folder: Path) -> Iterator[Tree]:
    """Yield a copy of the program in ``folder``, which is removed after the block.

    In a git repository, it is a worktree of HEAD with the uncommitted changes and the new files
    that git does not ignore. Elsewhere it is a copy of the whole folder.

    Raises:
        UsageError: the folder is too large to copy.
    """
    folder = folder.resolve()
    with tempfile.TemporaryDirectory(prefix="leakguard-fix-") as scratch:
        root = Path(scratch).resolve() / "tree"
        top = _repository(folder)
        if top is None:
            _copy(folder, root)
            yield Tree(folder, root, root)
            return
        # A hook of the user would run in the copy, and may do anything.
        _run(
            top,
            "-c",
            f"core.hooksPath={os.devnull}",
            "worktree",
            "add",
            "--detach",
            "--quiet",
            str(root),
            "HEAD",
        )
        try:
            _bring_changes(top, root)
            place = root / folder.relative_to(top)
            place.mkdir(parents=True, exist_ok=True)
            yield Tree(top, root, place)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(root)], cwd=top,
                           check=False, capture_output=True)  # fmt: skip


def patched(root: Path, patch: Path) -> None:
    """Apply a unified diff in a copy.

    Raises:
        UsageError: git is missing, or the patch does not apply.
    """
    _run(root, "apply", "--whitespace=nowarn", str(patch.resolve()))


def _repository(folder: Path) -> Path | None:
    """Return the root of the repository that has a commit; None without git or a repository."""
    try:
        done = subprocess.run(["git", "rev-parse", "--show-toplevel", "--verify", "HEAD"],
                              cwd=folder, check=False, capture_output=True, text=True)  # fmt: skip
    except FileNotFoundError:
        return None
    lines = done.stdout.splitlines()
    return Path(lines[0]).resolve() if done.returncode == 0 and len(lines) == 2 else None


def _bring_changes(top: Path, root: Path) -> None:
    changes = _run(top, "diff", "--binary", "HEAD")
    if changes.strip():
        _run(root, "apply", "--whitespace=nowarn", given=changes)
    new = _run(top, "ls-files", "--others", "--exclude-standard", "-z")
    for name in filter(None, new.decode("utf-8", "surrogateescape").split("\0")):
        source, target = top / name, root / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def _copy(folder: Path, root: Path) -> None:
    files = size = 0
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _LEFT_OUT]
        target = root / Path(place).relative_to(folder)
        target.mkdir(parents=True, exist_ok=True)
        for name in names:
            source = Path(place) / name
            if not source.is_file():
                continue
            files, size = files + 1, size + source.stat().st_size
            if files > _MOST_FILES or size > _MOST_BYTES:
                raise UsageError(
                    f"{folder} has more than {_MOST_FILES:,} files or "
                    f"{format_bytes(_MOST_BYTES)}; call fix in the program's own folder, or in a "
                    "git repository"
                )
            shutil.copy2(source, target / name)


def _run(folder: Path, *words: str, given: bytes | None = None) -> bytes:
    """Run git and return what it printed.

    Raises:
        UsageError: git failed or is not installed.
    """
    try:
        done = subprocess.run(["git", *words], cwd=folder, check=False, capture_output=True,
                              input=given)  # fmt: skip
    except FileNotFoundError:
        raise UsageError("a patch is applied by git, and the PATH has none") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["git gave up"]
        raise UsageError(f"git cannot do it: {said[0]}")
    return done.stdout
