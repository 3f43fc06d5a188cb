"""The manual is true to the code: pages are fresh, links lead somewhere, commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from leakguard import cli
from regression_tests.manual.pages import MANUAL, generated
from regression_tests.manual.tables import ROOT

_README = ROOT / "README.md"
_PAGES = sorted(MANUAL.rglob("*.md"))
_LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)(?:#[^)]*)?\)")
_STARTS_A_SCRIPT = ("run", "bisect", "fix", "reproduce")
_FENCED = re.compile(r"^```.*?^```", re.S | re.M)


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def links(page: Path) -> list[str]:
    return _LINK.findall(_FENCED.sub("", page.read_text("utf-8")))


@pytest.mark.parametrize("page", generated(), ids=name)
def test_generated_page_is_what_its_generator_writes(page):
    assert page.read_text("utf-8") == generated()[page], "run `make manual`"


@pytest.mark.parametrize("page", [_README, ROOT / "CHANGELOG.md", *_PAGES], ids=name)
def test_every_link_leads_to_a_file(page):
    assert [link for link in links(page) if not (page.parent / link).exists()] == []


def test_site_lists_every_page_of_the_manual():
    config = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = re.findall(r"[\w/-]+\.md", config.partition("\nnav:")[2])
    assert sorted(listed) == [page.relative_to(MANUAL).as_posix() for page in _PAGES]


@pytest.mark.parametrize("page", [_README, *_PAGES], ids=name)
def test_table_that_a_page_cites_has_its_command_beside_it(page):
    cited = [link for link in links(page) if "reports/" in link]
    for link in cited:
        folders = (page.parent / link).resolve().relative_to(ROOT).parents
        assert any((ROOT / folder / "COMMAND").exists() for folder in folders), link


def test_every_table_of_the_reports_is_listed_with_its_command():
    listed = (MANUAL / "explanation/tables.md").read_text("utf-8")
    pages = [name(page) for page in (ROOT / "reports").rglob("*.md")]
    assert len(pages) > 50
    assert [page for page in pages if f"../{page})" not in listed] == []


@pytest.mark.parametrize("page", [_README, *_PAGES], ids=name)
def test_commands_and_options_that_a_page_shows_exist(page):
    with click.Context(cli.program) as context:
        known = {of: cli.program.get_command(context, of) for of in cli.COMMANDS}
    blocks = "\n".join(_FENCED.findall(page.read_text("utf-8")))
    for command, arguments in re.findall(
        r"^\s*(?:- run: |- |\$ )?leakguard (\w+) ([^\n#]*)", blocks, re.M
    ):
        assert command in known
        options = {option for parameter in known[command].params for option in parameter.opts}
        if command in _STARTS_A_SCRIPT:  # what follows is the script's own
            arguments = re.split(r"\S+\.py\b| -- ", arguments)[0]
        assert set(re.findall(r"(?<!\S)--[\w-]+", arguments)) <= options, command


def test_readme_is_one_screen_and_a_half():
    text = _README.read_text("utf-8")
    assert len(text.splitlines()) <= 150 and len(text.encode()) <= 8_000


def test_map_of_the_layout_is_the_territory():
    layout = (MANUAL / "contributing/layout.md").read_text("utf-8")
    named = set(re.findall(r"`((?:leakguard|reference_trainer|regression_tests)[\w./]*)`", layout))
    assert [path for path in named if not (ROOT / path).exists()] == []
    folders = {f"leakguard/{f.parent.name}" for f in (ROOT / "leakguard").glob("*/__init__.py")}
    assert folders <= named and len(folders) > 7


def test_every_integration_that_the_manual_imports_defines_what_is_imported():
    text = (MANUAL / "how-to/frameworks.md").read_text("utf-8")
    imports = re.findall(r"^from (leakguard\.integrations[\w.]*) import ([\w, ]+)", text, re.M)
    assert len(imports) > 12
    for module, names in imports:
        source = (ROOT / f"{module.replace('.', '/')}.py").read_text("utf-8")
        for imported in names.split("#")[0].split(","):
            assert re.search(rf"^(?:class|def) {imported.strip()}\b", source, re.M), imported
