"""A module is a root of its own if it was imported; others are held by ``sys.modules``."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import pytest
from heap_engines import COMPILED, PYTHON

ENGINE = COMPILED or PYTHON


class Table:
    pass


def _held_by(thing):
    found = ENGINE.inspect(targets=[thing]).held[0]
    return found and found.held_by


def _registered(monkeypatch, name, module):
    monkeypatch.setitem(sys.modules, name, module)
    module.table = Table()
    return module.table


def _loaded(name, file):
    spec = spec_from_file_location(name, file)
    assert spec is not None
    return module_from_spec(spec)


def test_imported_module_holds_what_it_has_by_its_own_name(monkeypatch, tmp_path):
    table = _registered(monkeypatch, "prices", _loaded("prices", tmp_path / "prices.py"))
    assert _held_by(table) == "prices.table"


def test_modules_that_the_program_makes_are_held_by_the_interpreters_table(monkeypatch):
    table = _registered(monkeypatch, "rule_17", ModuleType("rule_17"))
    assert _held_by(table) == "sys.modules[*].table"


@pytest.mark.parametrize("again", ["prices_2", "a_prices"])
def test_module_that_is_loaded_again_under_another_name_is_held_by_that_table(
    monkeypatch, tmp_path, again
):
    file = tmp_path / "prices.py"
    names = sorted(["prices", again])
    tables = [_registered(monkeypatch, name, _loaded(name, file)) for name in names]
    assert [_held_by(table) for table in tables] == [f"{names[0]}.table", "sys.modules[*].table"]


def test_program_that_is_imported_by_its_own_name_too_keeps_its_name(monkeypatch, tmp_path):
    file = str(tmp_path / "trainer.py")
    monkeypatch.setattr(sys.modules["__main__"], "__file__", file, raising=False)
    module = _loaded("trainer", file)
    assert _held_by(_registered(monkeypatch, "trainer", module)) == "trainer.table"
