"""The page of every table in reports/, with the command that makes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

_TOP = """# All tables and their commands

Each folder of `reports/` has a file `COMMAND`. Run it from the top of a checkout, with the
environment that `make test` sets up. A folder of one run also has the run file, and the report as
text, page and JSON.

"""


def page() -> str:
    """Return the page: one section per folder that has a command."""
    folders = sorted(path.parent for path in (ROOT / "reports").rglob("COMMAND"))
    return _TOP + "\n".join("\n".join(_section(folder)) for folder in folders)


def _section(folder: Path) -> Iterator[str]:
    yield f"## {folder.relative_to(ROOT / 'reports').as_posix()}\n"
    yield from map(_link, _tables(folder))
    yield f"\n```\n{(folder / 'COMMAND').read_text('utf-8').strip()}\n```\n"


def _tables(folder: Path) -> list[Path]:
    """Return the pages that the command of this folder makes, and not one of a folder below."""
    return [page for page in sorted(folder.rglob("*.md")) if _maker(page) == folder]


def _maker(page: Path) -> Path:
    return next(folder for folder in page.parents if (folder / "COMMAND").exists())


def _link(page: Path) -> str:
    return f"- [{_title(page)}](../../../{page.relative_to(ROOT).as_posix()})"


def _title(page: Path) -> str:
    """Return the heading of a page; a run's report begins with its verdict, which is no title."""
    if page.name == "report.md":
        return "the report"
    lines = page.read_text("utf-8").splitlines()
    heading = next((line for line in lines if line.startswith("#")), page.stem)
    return heading.lstrip("# ").replace("`", "")
