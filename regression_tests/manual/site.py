"""What mkdocs does beside its own: the tables of reports/ are pages of the site, too.

In the repository a page links to ``../../../reports/...``. The site has the same files below
``reports/``, so that every link is checked by ``mkdocs build --strict``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

_ROOT = Path(__file__).parents[2]
_SHOWN = {".md", ".svg", ".png", ".html"}
_TO_REPORTS = re.compile(r"\((?:\.\./)+reports/")
# `[*]` behind a bracket, outside of code, would be taken for a reference.
_ANY_INDEX = re.compile(r"(```.*?```|`[^`\n]*`)|\]\[\*\]", re.S)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)#\s]+)(#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and pictures of reports/."""
    for path in sorted((_ROOT / "reports").rglob("*")):
        if path.suffix in _SHOWN:
            place = path.relative_to(_ROOT).as_posix()
            files.append(File.generated(config, place, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Point the manual at the site's reports/; drop links of a report that lead out of it."""
    place = page.file.src_uri
    if not place.startswith("reports/"):
        up = "../" * place.count("/")
        return _TO_REPORTS.sub(f"({up}reports/", markdown)
    folder = Path(place).parent

    def kept(link: re.Match[str]) -> str:
        target = _normal(folder / link[3])
        return link[0] if files.get_file_from_path(target) else link[2]

    return _ANY_INDEX.sub(lambda found: found[1] or r"]\[*]", _LINK.sub(kept, markdown))


def _normal(path: Path) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)
