"""When a look asks who holds what."""

from __future__ import annotations

import dataclasses
from unittest import mock

from leakguard.live.look import Looker
from leakguard.live.schedule import LAST, Schedule
from leakguard.live.suspicion import Suspicion


def looker(**seen: bool) -> Looker:
    """Return a looker that has seen this, in a run without a limit."""
    schedule = Schedule(None, mock.Mock(), mock.Mock())
    fresh = Looker(mock.Mock(), schedule, mock.Mock(), Suspicion(), None)
    return dataclasses.replace(fresh, **seen)


def test_last_look_asks_who_holds_what_where_memory_grows():
    assert looker(swells=True)._may_ask(9, LAST, grew=False)


def test_where_nothing_grows_no_look_asks_who_holds_what():
    assert not looker()._may_ask(9, LAST, grew=False)
    assert not looker(swells=True)._may_ask(9, "spread", grew=False)
