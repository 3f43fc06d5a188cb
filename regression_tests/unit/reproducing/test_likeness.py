"""Whether a test failed because of the finding."""

from __future__ import annotations

import pytest

from leakguard.model.finding import Finding
from leakguard.reproducing.likeness import holder_name, is_same, line_of


@pytest.mark.parametrize(
    ("held_by", "name"),
    [
        ("__main__.best[*]", "best"),
        ("__main__.runner.net._modules['1']._forward_hooks[*]", "_forward_hooks"),
        ("local tryouts in search()[*]", "tryouts"),
        ("local trainer in main().rows[*]", "rows"),
        ("__main__", None),
        (None, None),
    ],
)
def test_name_of_a_holder(held_by, name):
    assert holder_name(held_by) == name


def finding(held_by: str | None, type_: str, kind: str = "instances") -> Finding:
    return Finding("f", kind, "leak", "growing", "", type=type_, held_by=held_by)


def test_holder_decides_where_both_have_one():
    ours = finding("__main__.best[*]", "__main__.Rollout")
    assert is_same(ours, {"held_by": "train.best[*]", "type": "builtins.list"}, None, None)
    assert not is_same(ours, {"held_by": "local pop in f()", "type": "t.Rollout"}, None, None)


def test_class_of_the_program_decides_where_no_holder_is_known():
    ours = finding(None, "__main__.Rollout")
    assert is_same(ours, {"held_by": None, "type": "test_leak.Rollout"}, None, None)
    assert not is_same(ours, {"held_by": None, "type": "test_leak.Other"}, None, None)


def test_builtin_type_needs_the_same_line_however_it_is_laid_out():
    ours, told = finding(None, "bytearray"), {"held_by": None, "type": "bytearray"}
    assert not is_same(ours, told, None, None)
    assert is_same(ours, told, 'x["a"] = bytearray(9)  # kept', "x['a']  = bytearray(9)")


def test_line_of_a_file_that_is_shown_with_its_folder():
    assert line_of("shop/cart.py:2 in fill", {"src/shop/cart.py": "a\nb\n"}) == "b"
    assert line_of("other.py:2 in fill", {"src/shop/cart.py": "a\nb\n"}) is None
