"""Growth is told by path: what has more entries at every look, and only that."""

from __future__ import annotations

import gc
import io
import pickle
import sys
from collections import deque
from xml.etree import ElementTree

import pytest
from heap_engines import Engine, each_engine

from leakguard.capture.heap import Inspection
from leakguard.model.holder import Holder

PAYLOAD = 5000


class Settings:
    __slots__ = tuple(f"slot_{k}" for k in range(80))


class Episode:
    def __init__(self) -> None:
        self.rewards = bytearray(PAYLOAD)


class Trainer:
    def __init__(self) -> None:
        self.episodes: list[Episode] = []
        self.by_number: dict[int, Episode] = {}
        self.recent: deque[Episode] = deque(maxlen=20)
        self.replaced: list[Episode] = []
        self.agents = [{"losses": [0.0]} for _ in range(4)]
        self.filled = [Episode() for _ in range(50)]


def _grown(looks: list[Inspection]) -> dict[str, Holder]:
    return {holder.path: holder for holder in looks[-1].holders if holder.path in looks[-1].growing}


def _look(engine: Engine, step, rounds: int = 4) -> list[Inspection]:
    looks: list[Inspection] = []
    for number in range(rounds):
        step(number)
        looks.append(engine.inspect(looks[-1].memory if looks else None, limit=20))
    return looks


def _name(attribute: str) -> str:
    return f"{__name__}.Trainer.{attribute}"


@each_engine
def test_a_list_that_grows_every_round_is_found_with_its_numbers(engine: Engine) -> None:
    trainer = Trainer()

    def step(number: int) -> None:
        trainer.episodes.extend(Episode() for _ in range(16))

    found = _grown(_look(engine, step, rounds=3))[_name("episodes[*]")]
    assert (found.element, found.entries, found.before, found.streak) == (
        f"{__name__}.Episode", 48, 32, 2,
    )  # fmt: skip
    assert found.retained_bytes == pytest.approx(48 * (PAYLOAD + 200), rel=0.05)
    assert [hop.label for hop in found.trace][-2:] == [".episodes", "[*]"]
    assert [hop.suspect for hop in found.trace][-2:] == [True, True]


@each_engine
def test_growth_is_counted_from_what_was_remembered(engine: Engine) -> None:
    trainer = Trainer()
    trainer.episodes.append(Episode())
    memory = engine.remember()
    trainer.episodes.extend(Episode() for _ in range(16))
    trainer.replaced = [Episode() for _ in range(3)]
    growing = _grown([engine.inspect(memory, limit=20)])
    found = growing[_name("episodes[*]")]
    assert (found.entries, found.before, found.streak) == (17, 1, 1)
    assert _name("filled[*]") not in growing


@each_engine
def test_a_dict_that_grows_past_the_size_of_a_record_is_one_container(engine: Engine) -> None:
    trainer = Trainer()

    def step(number: int) -> None:
        for _ in range(30):
            trainer.by_number[len(trainer.by_number)] = Episode()

    assert _grown(_look(engine, step))[_name("by_number[*]")].entries == 120


@each_engine
def test_containers_inside_of_many_containers_are_added_up(engine: Engine) -> None:
    trainer = Trainer()

    def step(number: int) -> None:
        for agent in trainer.agents:
            agent["losses"] += [number + index / 7 for index in range(25)]

    assert _grown(_look(engine, step))[_name("agents[*]['losses'][*]")].entries == 4 * 101


@each_engine
def test_what_is_bounded_replaced_or_constant_does_not_grow(engine: Engine) -> None:
    trainer = Trainer()

    def step(number: int) -> None:
        trainer.recent.extend(Episode() for _ in range(30))
        trainer.replaced = [Episode() for _ in range(40)]

    assert not [path for path in _grown(_look(engine, step)) if ".Trainer." in path]


@each_engine
def test_growth_that_stops_is_dropped(engine: Engine) -> None:
    trainer = Trainer()

    def step(number: int) -> None:
        if number < 3:
            trainer.episodes.append(Episode())

    assert _name("episodes[*]") not in _grown(_look(engine, step))


@each_engine
def test_more_containers_of_the_same_length_grow_in_their_holder_only(engine: Engine) -> None:
    trainer = Trainer()

    def step(number: int) -> None:
        trainer.agents += [{"losses": [0.0, 1.0]} for _ in range(5)]

    grown = [path for path in _grown(_look(engine, step)) if ".Trainer." in path]
    assert grown[:1] == [_name("agents[*]")]


@each_engine
def test_fingerprints_survive_new_objects_at_the_same_place(engine: Engine) -> None:
    prints = []
    for _ in range(2):
        trainer = Trainer()
        looks = _look(
            engine, lambda number, t=trainer: t.episodes.extend([Episode(), Episode()]), rounds=2
        )
        prints.append(_grown(looks)[_name("episodes[*]")].fingerprint)
        del trainer
        gc.collect()
    assert prints[0] == prints[1]


@each_engine
def test_children_of_an_element_of_xml_are_the_entries_of_a_container(engine: Engine) -> None:
    trainer = Trainer()
    trainer.page = ElementTree.Element("page")  # type: ignore[attr-defined]

    def step(number: int) -> None:
        trainer.page.extend(ElementTree.Element("line", at=str(k)) for k in range(30))

    found = _grown(_look(engine, step))[_name("page[*]")]
    assert (found.entries, found.streak) == (120 + 1, 3)  # the tag is one of its references
    assert found.element == "xml.etree.ElementTree.Element"


@each_engine
@pytest.mark.skipif(sys.version_info < (3, 11), reason="the memo is told since CPython 3.11")
def test_the_memo_of_a_pickler_that_is_kept_is_a_container(engine: Engine) -> None:
    trainer = Trainer()
    trainer.pickler = pickle.Pickler(io.BytesIO())  # type: ignore[attr-defined]

    def step(number: int) -> None:
        for _ in range(16):
            trainer.pickler.dump(Episode())

    found = _grown(_look(engine, step))[_name("pickler[*]")]
    assert found.retained_bytes is not None
    assert found.retained_bytes > 64 * PAYLOAD


@each_engine
def test_attributes_of_a_class_with_many_of_them_are_no_entries(engine: Engine) -> None:
    trainer = Trainer()
    trainer.settings = Settings()  # type: ignore[attr-defined]

    def step(number: int) -> None:
        for k in range(40):
            setattr(trainer.settings, f"slot_{40 * number + k}", object())

    assert not any("settings" in path for path in _grown(_look(engine, step, rounds=2)))
