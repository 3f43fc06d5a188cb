"""Who holds an object is said in the words of the program."""

from __future__ import annotations

import asyncio
import collections
import functools
import gc
import sys
import threading

import pytest
from heap_engines import Engine, each_engine

from leakguard.capture.heap import Held


class Target:
    pass


class Trainer:
    def __init__(self) -> None:
        self.history: list[object] = []
        self.by_name: dict[str, object] = {}

    def run(self, engine: Engine, target: object) -> Held:
        return held(engine, target)


class Slotted:
    __slots__ = ("kept",)


class Node:
    def __init__(self, following: object) -> None:
        self.following = following


Step = collections.namedtuple("Step", "state reward")
HERE = __name__


def held(engine: Engine, target: object) -> Held:
    found = engine.inspect(targets=[target]).held[0]
    assert found is not None
    return found


@pytest.fixture
def place(request: pytest.FixtureRequest):
    """Give the test a module-level name to hold things by."""

    def put(value: object) -> None:
        globals()["placed"] = value

    yield put
    globals().pop("placed", None)


def _in_list(target):
    return [1, target]


def _in_dict(target):
    return {"first": 1, "kept": target}


def _under_a_number(target):
    trainer = Trainer()
    trainer.history.append(target)
    return {id(trainer): trainer}


def _in_long_dict(target):
    return {**dict.fromkeys(range(100)), 55: target}


def _in_attribute(target):
    made = Trainer()
    made.best = target
    return made


def _in_attribute_list(target):
    made = Trainer()
    made.history.append(target)
    return made


def _in_slot(target):
    made = Slotted()
    made.kept = target
    return made


def _in_closure(target):
    def callback():
        return target

    return callback


def _as_default(target):
    def callback(first, kept=target):
        return first, kept

    return callback


def _as_keyword_default(target):
    def callback(*, kept=target):
        return kept

    return callback


def _in_lru_cache(target):
    @functools.lru_cache
    def cached(number):
        return target_box.pop()

    target_box = [target]
    cached(1)
    return cached


def _as_self(target):
    target.method = None
    return types_method(target)


def types_method(target):
    import types

    return types.MethodType(lambda self: None, target)


def _in_partial(target):
    return functools.partial(print, target)


def _in_exception(target):
    def fails():
        kept = target
        raise ValueError(kept is None)

    try:
        fails()
    except ValueError as error:
        return error


def _in_generator(target):
    def steps(kept):
        yield 1
        yield kept

    made = steps(target)
    next(made)
    return made


def _in_named_tuple(target):
    return Step("state", target)


def _in_deque(target):
    return collections.deque([target])


def _in_chain(target):
    for _ in range(30):
        target = Node(target)
    return target


@each_engine
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (_in_list, "[*]"),
        (_in_dict, "['kept']"),
        (_in_long_dict, "[*]"),
        (_under_a_number, "[*].history[*]"),
        (_in_attribute, ".best"),
        (_in_attribute_list, ".history[*]"),
        (_in_slot, ".kept"),
        (_in_closure, " → closure cell target of _in_closure.<locals>.callback"),
        (_as_default, " → default argument kept of _as_default.<locals>.callback"),
        (_as_keyword_default, " → default argument kept of _as_keyword_default.<locals>.callback"),
        (_in_lru_cache, " → lru_cache of _in_lru_cache.<locals>.cached"),
        (_as_self, " → bound method self"),
        (_in_partial, ".args[*]"),
        (_in_generator, " → local kept in _in_generator.<locals>.steps()"),
        (_in_named_tuple, ".reward"),
        (_in_deque, "[*]"),
    ],
)
def test_each_way_to_hold_has_its_words(engine: Engine, place, make, name: str) -> None:
    target = Target()
    place(make(target))
    by_gc = held(engine, target).held_by
    if sys.version_info < (3, 11):  # no qualified names in code objects
        name = name.replace("_in_generator.<locals>.", "")
    assert by_gc == f"{HERE}.placed{name}"


@each_engine
def test_an_exception_holds_the_locals_of_its_frames(engine: Engine, place) -> None:
    target = Target()
    place(_in_exception(target))
    labels = [hop.label for hop in held(engine, target).trace]
    assert labels[:2] == [HERE, ".placed"]
    assert "traceback frame" in labels
    assert any(label.startswith(("local kept in", "local target in", "closure cell target"))
               for label in labels)  # fmt: skip


@each_engine
def test_a_chain_of_equal_objects_is_told_once(engine: Engine, place) -> None:
    target = Target()
    place(_in_chain(target))
    assert held(engine, target).held_by == f"{HERE}.placed.following.following"


@each_engine
def test_a_local_of_a_running_function_is_named_by_its_class(engine: Engine) -> None:
    trainer = Trainer()
    trainer.history.append(Target())
    found = engine.inspect(targets=trainer.history[:]).held[0]
    assert found.held_by == f"{HERE}.Trainer.history[*]"
    assert found.trace[0].label.startswith("local trainer in ")
    assert [hop.label for hop in found.trace[1:]] == [".history", "[*]"]
    assert [hop.suspect for hop in found.trace] == [False, False, True]


@each_engine
def test_a_module_name_is_preferred_to_a_local(engine: Engine, place) -> None:
    trainer = Trainer()
    trainer.history.append(Target())
    place(trainer)
    found = engine.inspect(targets=trainer.history[:]).held[0]
    assert found.held_by == f"{HERE}.placed.history[*]"


@each_engine
def test_a_local_of_another_thread_is_found(engine: Engine) -> None:
    ready, go_on = threading.Event(), threading.Event()
    watched: list[list[object]] = []

    def worker() -> None:
        mine = [Target()]
        watched.append(mine)
        ready.set()
        go_on.wait(60)
        del mine

    thread = threading.Thread(target=worker)
    thread.start()
    ready.wait(60)
    targets = watched.pop()[:]
    names = [hop.label for hop in engine.inspect(targets=targets).held[0].trace]
    go_on.set()
    thread.join(60)
    assert "local mine in " in names[0]


class Uploader:
    def __init__(self) -> None:
        self.pending: list[object] = []
        self.stop = threading.Event()

    def work(self) -> None:
        self.stop.wait(60)


@each_engine
def test_what_a_thread_works_on_is_named_by_its_class(engine: Engine) -> None:
    uploader = Uploader()
    uploader.pending.append(Target())
    targets, stop = uploader.pending[:], uploader.stop
    thread = threading.Thread(target=uploader.work)
    thread.start()
    del uploader
    try:
        assert engine.inspect(targets=targets).held[0].held_by == f"{HERE}.Uploader.pending[*]"
    finally:
        stop.set()
        thread.join(60)


class Gateway:
    def __init__(self) -> None:
        self.watchers: set[asyncio.Task[None]] = set()

    async def watch(self, order: Target, settled: asyncio.Event) -> None:
        await settled.wait()

    async def serve(self, engine: Engine) -> Held | None:
        settled = asyncio.Event()
        orders: list[object] = [Target() for _ in range(3)]
        for order in orders:
            self.watchers.add(asyncio.create_task(self.watch(order, settled)))
        del order
        await asyncio.sleep(0)
        found = engine.inspect(targets=orders).held[0]
        settled.set()
        return found


@each_engine
def test_what_tasks_wait_with_is_held_by_the_program_and_not_by_the_event_loop(
    engine: Engine,
) -> None:
    found = asyncio.run(Gateway().serve(engine))
    assert found.held_by.startswith(f"{HERE}.Gateway.watchers[*] → part of _asyncio.Task → ")


@each_engine
def test_a_thread_local_value_reads_like_an_attribute(engine: Engine, place) -> None:
    storage = threading.local()
    place(storage)
    storage.kept = [Target()]
    found = engine.inspect(targets=storage.kept[:]).held[0]
    assert found.held_by == f"{HERE}.placed.kept[*]"


@each_engine
def test_garbage_in_a_cycle_has_no_holder(engine: Engine) -> None:
    gc.collect()
    gc.disable()
    try:
        before = engine.inspect()
        ring = Target()
        ring.me, ring.payload = ring, bytearray(300_000)
        del ring
        after = engine.inspect()
        assert after.garbage_bytes - before.garbage_bytes >= 300_000
    finally:
        gc.enable()
        gc.collect()


@each_engine
def test_the_watcher_is_never_the_holder(engine: Engine, place) -> None:
    class OfTheWatcher:
        pass

    OfTheWatcher.__module__ = "leakguard.guard"
    trainer, watcher = Trainer(), OfTheWatcher()
    trainer.history.append(Target())
    watcher.gauge = trainer.history[0]
    place(watcher)
    found = engine.inspect(targets=trainer.history[:]).held[0]
    assert found.held_by == f"{HERE}.Trainer.history[*]"
