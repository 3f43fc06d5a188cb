"""The list of known leaks: every entry is whole, can be looked up, and says what to do."""

from __future__ import annotations

from collections import Counter
from importlib.resources import files
from typing import get_args
from urllib.parse import urlsplit

import pytest
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from leakguard.analysis.knowledge.known_leaks import (
    is_affected,
    known_leak,
    known_leaks,
    native_leaks,
)
from leakguard.analysis.words.remedy import native_without_line
from leakguard.model import Finding, Run, RunInfo
from leakguard.model.finding import Kind
from leakguard.model.known_leak import KnownLeak

_ENTRIES = pytest.mark.parametrize("leak", known_leaks(), ids=lambda leak: leak.id)


@_ENTRIES
def test_versions_are_specifiers_that_can_be_met(leak):
    assert leak.versions
    assert all(str(SpecifierSet(text)) for text in leak.versions)


@_ENTRIES
def test_first_fixed_release_is_not_affected(leak):
    if leak.fixed is not None:
        assert not is_affected(leak, leak.fixed)


@_ENTRIES
def test_source_is_an_address_of_a_page(leak):
    address = urlsplit(leak.source)
    assert address.scheme == "https"
    assert address.netloc and address.path.strip("/")


@_ENTRIES
def test_fix_is_a_sentence_and_the_other_texts_are_not_empty(leak):
    assert leak.fix[:1].isupper() and leak.fix.endswith(".") and len(leak.fix.split()) > 3
    assert len(leak.trigger.split()) > 1 or leak.trigger.count(".")
    assert leak.looks
    assert leak.unsure is None or leak.unsure.endswith(".")


@_ENTRIES
def test_fix_names_the_first_fixed_release(leak):
    if leak.fixed is not None:
        assert leak.fixed in leak.fix


@_ENTRIES
def test_kind_is_one_of_a_finding_and_the_library_is_spelled_as_the_index_does(leak):
    assert leak.kind in get_args(Kind)
    assert leak.library == canonicalize_name(leak.library)


@_ENTRIES
def test_leak_that_still_affects_the_newest_release_has_no_fixed_one(leak):
    if is_affected(leak, "999999"):
        assert leak.fixed is None


def test_no_entry_is_there_twice():
    assert [name for name, times in Counter(leak.id for leak in known_leaks()).items()
            if times > 1] == []  # fmt: skip
    same = Counter((leak.library, leak.trigger, leak.versions) for leak in known_leaks())
    assert max(same.values()) == 1


def test_every_file_of_the_list_is_read():
    folder = files("leakguard.analysis.knowledge").joinpath("leaks")
    written = sum(page.read_text("utf-8").count("[[leak]]") for page in folder.iterdir())
    assert len(known_leaks()) == written >= 60


@pytest.mark.parametrize(
    ("version", "affected"),
    [("1.9", False), ("2.0", True), ("2.1.4+cu121", True), ("2.2", False), ("2.2rc1", False),
     ("3.0", True), ("3.0.1", False), ("no version", False)],
)  # fmt: skip
def test_release_has_the_leak_where_any_of_the_sets_matches(version, affected):
    leak = KnownLeak("a", "a", (">=2.0,<2.2", "==3.0"), "t", "l", "native", "f", "s")
    assert is_affected(leak, version) is affected


def test_program_without_a_descriptor_left_is_judged_without_the_list(monkeypatch):
    def exhausted():
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("leakguard.analysis.knowledge.known_leaks.known_leaks", exhausted)
    finding = Finding("ab", "files", "leak", "growing", "r", type="torch._dynamo.guards.Guard")
    assert known_leak(finding, {}) is None


def test_advice_on_native_memory_names_what_the_releases_that_ran_are_known_for():
    run = Run(RunInfo(packages={"numpy": "2.3.1", "torch": "2.6.0"}), ())
    advice = native_without_line(run)
    assert "Known to leak: numpy 2.3.1 by hash() of a datetime64" in advice
    fixed = Run(RunInfo(packages={"numpy": "2.5.1"}), ())
    assert "Known to leak" not in native_without_line(fixed)


def test_release_that_was_not_recorded_is_not_accused():
    assert native_leaks({}) == []
