"""A guard's run file carries what is alive by line and phase, and says where it cannot."""

from __future__ import annotations

import pytest
from birth_programs import needs_births, played

from leakguard import diagnose
from leakguard.live.birth_watch import BirthWatch
from leakguard.live.history import History
from leakguard.model import Birthplace, Births, Cohort, Snapshot
from leakguard.store import schema

LOOP = """
import sys
from leakguard import LeakGuard
kept = []

def train():
    kept.append([bytes(400) for _ in range(300)])

def evaluate():
    return [bytes(400) for _ in range(300)]

with LeakGuard(out=sys.argv[1]) as guard:
    for generation in guard.generations(12):
        with guard.phase("train"):
            with guard.phase("inner"):
                evaluate()
            train()
        with guard.phase("evaluate"):
            evaluate()
"""


# Bytes of the texts that the loop keeps, and the most that their lists may add.
KEPT, LISTS = 12 * 300 * 433, 12 * 3_000


@needs_births
def test_snapshots_carry_births_at_doubling_generations_and_the_last(tmp_path):
    run = played(tmp_path, LOOP)

    told = {s.generation: s.births for s in run.snapshots if s.births and s.moment == "generation"}
    assert list(told) == [0, 1, 3, 7, 11]
    last = told[11]
    leak = next(p for p in last.places if p.function == "train")
    assert leak.phase == "train"
    assert not leak.native
    assert abs(leak.bytes - KEPT) < 4 * leak.error + LISTS
    assert [cohort.round for cohort in leak.cohorts] == list(range(12))
    assert sum(c.samples for c in leak.cohorts) == leak.samples <= last.samples
    assert last.share == 1.0
    assert last.native_interval is not None
    assert sum(p.bytes for p in last.places if p.function == "evaluate") < leak.bytes / 20


@needs_births
def test_holder_tells_where_each_round_made_what_it_keeps(tmp_path):
    run = played(tmp_path, LOOP)

    last = next(s for s in reversed(run.snapshots) if s.holders)
    kept = next(holder for holder in last.holders if holder.path == "__main__.kept[*]")
    most = kept.born[0]
    assert (most.function, most.phase) == ("train", "train")
    assert [cohort.round for cohort in most.cohorts] == list(range(12))
    assert abs(most.bytes - KEPT) < 4 * most.error + LISTS


@needs_births
def test_leak_has_line_phase_and_start_without_a_traced_generation(tmp_path):
    run = played(tmp_path, LOOP)

    (finding,) = diagnose(run).findings
    assert (finding.held_by, finding.phase) == ("__main__.kept[*]", "train")
    assert finding.created_at.endswith("in train")
    assert finding.started_at == run.generations[0]
    assert not any(snapshot.was_traced for snapshot in run.snapshots)


ONE_OBJECT = """
import sys
from leakguard import LeakGuard
kept, text = [], bytearray()

def note(number):
    text.extend(bytes(9_000))
    {bound}

with LeakGuard(out=sys.argv[1]) as guard:
    for generation in guard.generations(40):
        with guard.phase("note"):
            note(generation)
        with guard.phase("keep"):
            kept.append(bytearray(100_000))
"""


@needs_births
@pytest.mark.parametrize("bound", ["", "del text[:-90_000]"])
def test_text_that_one_look_saw_grow_is_told_beside_a_larger_leak_unless_it_is_cut(tmp_path, bound):
    run = played(tmp_path, ONE_OBJECT.format(bound=bound))

    told = [(f.held_by, f.created_at) for f in diagnose(run).findings]
    text = ("__main__.text", "program.py:7 in note")
    assert told == [("__main__.kept[*]", "program.py:15"), *([] if bound else [text])]


@needs_births
def test_large_entries_of_a_list_are_no_holders_beside_it(tmp_path):
    keeps = LOOP.replace("[bytes(400) for _ in range(300)])", "bytes(300_000))")
    run = played(tmp_path, keeps.replace("generations(12)", "generations(2)"))

    looks = [[h.path for h in s.holders if "kept" in h.path] for s in run.snapshots if s.holders]
    assert looks and all(paths == ["__main__.kept[*]"] for paths in looks)


GATEWAY = """
import asyncio, contextvars, sys
from leakguard import LeakGuard

rows = contextvars.ContextVar("rows")
callbacks = []

class Gateway:
    def __init__(self):
        self.expired, self.sessions = 0, []

    def expire(self):
        self.expired += 1

    async def serve(self, number):
        {kept}
        rows.set([bytes(500) for _ in range(30)])
        {scheduled}

async def main():
    gateway = Gateway()
    with LeakGuard(out=sys.argv[1]) as guard:
        for number in guard.generations(40):
            with guard.phase("serve"):
                await asyncio.create_task(gateway.serve(number))

asyncio.run(main())
"""
SESSIONS = "self.sessions.append([bytes(500) for _ in range(40)])"
TIMER = "asyncio.get_running_loop().call_later(3600, self.expire)"
TIMERS = "timers of the running event loop (call_later / call_at)"


@needs_births
@pytest.mark.parametrize(
    ("kept", "scheduled", "told"),
    [
        (SESSIONS, TIMER, {"__main__.Gateway.sessions[*]": 16, TIMERS: 17}),
        ("", TIMER, {TIMERS: 17}),
        (
            SESSIONS,
            "callbacks.append(self.expire)",
            {"__main__.callbacks[*] → bound method self.sessions[*]": 16},
        ),
        ("", "", {}),
    ],
    ids=["both", "timers with their contexts", "callbacks that keep one object", "neither"],
)
def test_what_all_timers_and_callbacks_refer_to_is_a_holder_of_its_own(
    tmp_path, kept, scheduled, told
):
    report = diagnose(played(tmp_path, GATEWAY.format(kept=kept, scheduled=scheduled)))

    found = {
        f.holder_name or f.held_by: f.created_at
        for f in report.findings
        if f.bytes_per_generation > 10_000
    }
    assert found == {name: f"program.py:{line} in serve" for name, line in told.items()}


@needs_births
def test_bytes_of_tuples_that_may_have_come_from_a_free_list_count_with_their_texts(tmp_path):
    run = played(
        tmp_path,
        LOOP.replace("[bytes(400) for _ in range(300)])", "[(n / 7, str(n)) for n in range(900)])"),
    )

    last = next(s for s in reversed(run.snapshots) if s.holders)
    kept = next(holder for holder in last.holders if holder.path == "__main__.kept[*]")
    (place,) = kept.born
    assert abs(place.bytes - kept.retained_bytes) < 4 * place.error + 0.1 * kept.retained_bytes


@needs_births
def test_line_is_that_of_the_constructor_call_only_for_what_is_kept(tmp_path):
    run = played(
        tmp_path,
        """
        import functools, sys
        from leakguard import LeakGuard
        histories, episodes, hooks = [], [], []

        def logged(method):
            @functools.wraps(method)
            def logging(*arguments):
                return method(*arguments)
            return logging

        class Book:
            def __init__(self):
                self.orders = [bytes(400) for _ in range(100)]

        class Episode:
            @logged
            def __init__(self):
                self.book = Book()

        class Connection:
            def __init__(self):
                histories.append([bytes(400) for _ in range(100)])  # the connection is not kept

        class Probe:
            def __init__(self):
                self.sums = [bytes(400) for _ in range(50)]
                hooks.append(self.hook)

            def hook(self):
                pass

        def rounds():
            Connection()
            Probe()  # is kept by its method
            episodes.append(Episode())  # is kept, with its book

        with LeakGuard(out=sys.argv[1]) as guard:
            for generation in guard.generations(12):
                rounds()
        """,
    )

    lines = (tmp_path / "program.py").read_text("utf-8").splitlines()
    found = {f.held_by: f.created_at.partition(" ")[0] for f in diagnose(run).findings}
    for holder, code in [
        ("histories", "is not kept"),
        ("episodes", "is kept, with"),
        ("hooks", "is kept by its method"),
    ]:
        (number,) = [n for n, line in enumerate(lines, 1) if code in line]
        assert found[f"__main__.{holder}[*]"].endswith(f":{number}")


@pytest.mark.parametrize("wanted", ["0", "off", "no"])
def test_births_switched_off_touch_nothing(tmp_path, wanted):
    run = played(tmp_path, LOOP, LEAKGUARD_BIRTHS=wanted)

    assert run.finished
    assert all(s.births is None and "births" not in s.unavailable for s in run.snapshots)


@needs_births
def test_refused_record_is_said_and_the_guard_goes_on(tmp_path):
    run = played(tmp_path, LOOP, PYTHONMALLOC="malloc")

    assert run.finished
    assert all(s.births is None for s in run.snapshots)
    reasons = {s.unavailable["births"] for s in run.snapshots if "births" in s.unavailable}
    assert len(reasons) == 1 and "PYTHONMALLOC" in reasons.pop()


@needs_births
def test_second_guard_inside_the_first_goes_without(tmp_path):
    inner = LOOP + "        with LeakGuard() as other:\n            other.snapshot('inside')\n"
    run = played(tmp_path, inner)

    assert run.finished
    assert run.snapshots[-1].births is not None


def test_run_without_births_reads_as_before():
    line = schema.encode_snapshot(Snapshot(0, "Gen 1"))

    assert b"births" not in line
    assert schema.decode(line).snapshot == Snapshot(0, "Gen 1")


def test_births_are_read_back_as_they_were_written():
    cohorts = (Cohort(-1, 1, 10.0, 1.0, 1), Cohort(0, 2, 20.0, 2.0, 2))
    place = Birthplace("train", False, 30.0, 3.0, 2.5, 3, "a.py:1", "f", cohorts, ("a.py:1 in f",))
    nowhere = Birthplace("", True, 30.0, 3.0, 2.5, 3)
    births = Births(60.0, 4.2, 1.0, 4096.0, (place, nowhere), 8192.0, 6)
    for told in (births, Births(0.0, 0.0, 0.0, 2048.0)):
        snapshot = Snapshot(0, "Gen 1", births=told)

        assert schema.decode(schema.encode_snapshot(snapshot)).snapshot == snapshot


def test_snapshots_with_births_outlive_thinning():
    history = History(limit=64)
    for round_ in range(2_000):
        told = round_ + 1 & round_ == 0
        history.append(b"told" if told else b"line", round_, look=told)

    assert list(history).count(b"told") == 11


def test_watch_without_a_record_does_nothing():
    watch = BirthWatch()
    watch.start()
    watch.begin_round(0)
    watch.leave_phase(watch.enter_phase("train"))

    assert watch.at_round_end(1, last=True) is None
    assert watch.at_end() is None
    watch.stop()


KEYED = """
import sys
from leakguard import LeakGuard
cache = {}

def keys(generation):
    return [f"{generation}-{number:06}" * 30 for number in range(100)]

def ids(text):
    return [number * 1000 for number in range(len(text) // 4)]

with LeakGuard(out=sys.argv[1]) as guard:
    for generation in guard.generations(30):
        texts = keys(generation)
        with guard.phase("encode"):
            for text in texts:
                cache[text] = ids(text)
"""


@needs_births
def test_line_is_that_of_what_a_dict_keeps_and_not_that_of_its_keys(tmp_path):
    (finding,) = diagnose(played(tmp_path, KEYED)).findings

    assert (finding.held_by, finding.phase) == ("__main__.cache[*]", "encode")
    assert finding.created_at is not None
    assert finding.created_at.endswith("in ids")


KEPT_IN_ODD_PLACES = """
import ctypes, sys, weakref
from leakguard import LeakGuard

class Session:
    pass

class Profile:
    def __init__(self, owner):
        self.owner, self.text = owner, bytes(3_000)

proposed, clipboard, profiles = set(), [], weakref.WeakKeyDictionary()
forgotten = {}

def forget():
    session = Session()
    forgotten[weakref.ref(session)] = bytearray(20_000)

def propose(number):
    for at in range(400):
        proposed.add((number, at, number * at + 10_000))

def copy_range():
    clipboard.append(ctypes.create_string_buffer(30_000))

def serve():
    for _ in range(8):
        session = Session()
        profiles[session] = Profile(session)

with LeakGuard(out=sys.argv[1]) as guard:
    for number in guard.generations(24):
        propose(number)
        copy_range()
        serve()
        forget()
"""


@needs_births
@pytest.mark.parametrize(
    ("held_by", "type_", "text"),
    [
        ("__main__.proposed[*]", "tuple", "proposed.add("),
        ("__main__.clipboard[*]", "ctypes.c_char_Array_30000", "clipboard.append("),
        ("__main__.profiles.data[*]", "__main__.Profile", "profiles[session] ="),
        ("__main__.forgotten[*]", "bytearray", "forgotten[weakref.ref("),
    ],
)
def test_what_sets_of_tuples_buffers_of_c_and_values_that_hold_their_weak_keys_keep_has_its_line(
    odd_places, held_by, type_, text
):
    report, lines = odd_places
    finding = next(one for one in report.findings if one.held_by == held_by)

    line = 1 + next(at for at, line in enumerate(lines) if text in line)
    assert (finding.verdict, finding.type) == ("leak", type_)
    assert (finding.created_at or "").startswith(f"program.py:{line} ")


@pytest.fixture(scope="module")
def odd_places(tmp_path_factory):
    run = played(tmp_path_factory.mktemp("odd"), KEPT_IN_ODD_PLACES)
    return diagnose(run), KEPT_IN_ODD_PLACES.splitlines()
