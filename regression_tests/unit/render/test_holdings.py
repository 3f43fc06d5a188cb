"""The list of what may go: variables in use stand apart, and a second look says what came free."""

from __future__ import annotations

from leakguard.model.holding import Holding, Holdings, since
from leakguard.render.holdings import render_holdings

CACHE = Holding("cache", "f", "f.cache_clear()", 2_000_000)
ROWS = Holding("variable", "rows", "del rows", 9_000_000, "list")


def test_variables_in_use_stand_apart_from_what_may_go():
    text = render_holdings(Holdings((CACHE, ROWS), 20_000_000))
    first, _, rest = text.partition("the largest variables")
    assert "f.cache_clear()" in first
    assert "del rows" in rest
    assert "del rows" not in first


def test_nothing_may_go_where_only_variables_are():
    text = render_holdings(Holdings((ROWS,), 20_000_000))
    assert "nothing of 100 kB or more may go" in text


def test_second_look_begins_with_what_came_free_beside_the_promise():
    then = since(Holdings((CACHE, ROWS), 20_000_000), Holdings((ROWS,), 18_000_000))
    assert render_holdings(then).splitlines()[:2] == [
        "leakguard: since the look before, 2.0 MB came free",
        "           gone  f.cache_clear()  promised 2.0 MB",
    ]
