"""The history of a long run stays bounded, even and in one object."""

from __future__ import annotations

import gc
import itertools

from leakguard.live.history import History


def test_short_history_keeps_every_line():
    history = History()
    for round_ in (None, 0, 1, 2):
        history.append(f"{round_}\n".encode(), round_)
    assert list(history) == [b"None\n", b"0\n", b"1\n", b"2\n"]


def test_long_history_is_thinned_evenly_and_keeps_the_baseline():
    history = History(limit=100)
    history.append(b"baseline", None)
    for round_ in range(10_000):
        history.append(str(round_).encode(), round_)
    first, *rounds = history
    assert first == b"baseline"
    assert len(history) <= 101
    steps = {int(b) - int(a) for a, b in itertools.pairwise(rounds)}
    assert len(steps) == 1


def test_recent_lines_come_with_those_before_the_first_generation():
    history = History()
    history.append(b"baseline", None)
    for round_ in range(10):
        history.append(str(round_).encode(), round_)
    assert list(history.recent(2)) == [b"baseline", b"8", b"9"]


def told(history: History) -> list[int]:
    return [int(line) for line in history]


def test_thinned_history_keeps_looks_and_the_extremes_in_order():
    history = History(limit=200)
    for round_ in range(20_000):
        rss = 5 if round_ == 7_777 else 1 if round_ == 3_333 else 3
        look = round_ in (4_001, 9_001, 19_001)
        history.append(b"%d\n" % round_, round_, look=look, metrics={"rss": rss})
    kept = told(history)
    assert {4_001, 9_001, 19_001, 3_333, 7_777} < set(kept)
    assert kept == sorted(set(kept))
    assert len(kept) <= 210


def test_highest_of_a_rise_without_end_is_kept_and_the_rest_stays_even():
    history = History(limit=100)
    for round_ in range(10_007):
        history.append(b"%d\n" % round_, round_, metrics={"rss": round_, "peak": round_})
    *even, highest = told(history)
    assert highest == 10_006
    assert len({b - a for a, b in itertools.pairwise(even)}) == 1


def test_history_is_bounded_where_every_generation_is_looked_at_or_none_is_told():
    for round_of in (lambda number: number, lambda number: None):
        history = History(limit=100)
        for number in range(5_000):
            history.append(b"%d\n" % number, round_of(number), look=True)
        assert len(history) <= 101
        assert told(history)[:8] == list(range(8))  # later censuses are told beside the first one


def test_history_of_long_lines_is_bounded_by_their_bytes():
    history = History(most_bytes=1_000_000)
    for round_ in range(3_000):
        history.append(b"%d " % round_ + b"x" * 10_000 + b"\n", round_, look=True)
    assert sum(map(len, history)) <= 1_000_000
    assert history.held_bytes < 1_000_000


def test_lines_are_held_in_a_small_part_of_their_size():
    history, lines = (
        History(),
        [b'{"snapshot":{"label":"Gen %d"}}\n' % n * 40 for n in range(3_000)],
    )
    for round_, line in enumerate(lines):
        history.append(line, round_)
    assert list(history) == lines
    assert history.held_bytes < sum(map(len, lines)) / 8


def objects_inside(root: object) -> int:
    waiting, met = [root], {id(root)}
    for item in waiting:
        fresh = [held for held in gc.get_referents(item) if id(held) not in met]
        met.update(map(id, fresh))
        waiting += [held for held in fresh if not isinstance(held, type)]
    return len(met)


def test_packed_lines_are_no_more_objects_the_more_there_are():
    history = History()
    counts = []
    for lines in (500, 2_000):
        for round_ in range(lines):
            history.append(b"%0500d\n" % round_, None)
        counts.append(objects_inside(history))
    assert counts[0] == counts[1]
    assert told(history)[-1] == 1_999
