"""Attributes that the code of a class does not know: set from outside, by a function or by name."""

from __future__ import annotations

import gc
import sys
from typing import Any

import pytest
from heap_engines import Engine, each_engine

from leakguard.capture.heap import PathMemory

ENTRIES = 3_000


class Agent:
    def __init__(self, number: int) -> None:
        self.number = number


class Slow:
    @property
    def history(self) -> list[int]:
        raise AssertionError("a property was asked")


def attach_history(agents: list[Agent]) -> None:
    for agent in agents:
        agent.loss_history = []


def note_losses(agents: list[Any]) -> None:
    for agent in agents:
        agent.loss_history.extend(float(number) + 0.5 for number in range(ENTRIES))


def with_real_dict(agents: list[Any]) -> int:
    return sum(any(type(part) is dict for part in gc.get_referents(agent)) for agent in agents)


@each_engine
def test_looks_follow_an_attribute_that_was_set_from_outside(engine: Engine) -> None:
    agents = [Agent(number) for number in range(6)]
    attach_history(agents)
    memory, grown = PathMemory(), []
    for _ in range(4):
        note_losses(agents)
        found = engine.inspect(memory=memory)
        memory = found.memory
        grown += [h for h in found.holders if h.path.endswith(".loss_history[*]")]
    assert [(h.entries, h.before) for h in grown] == [
        (6 * ENTRIES * rounds, 6 * ENTRIES * (rounds - 1) or None) for rounds in range(1, 5)
    ]


@each_engine
@pytest.mark.skipif(sys.version_info < (3, 11), reason="every instance has a dict there")
def test_looks_make_no_attribute_dicts(engine: Engine) -> None:
    agents = [Agent(number) for number in range(6)]
    attach_history(agents)
    note_losses(agents)
    engine.inspect()
    assert with_real_dict(agents) == 0


def with_secret(owner: Any) -> Any:
    """Give an owner an attribute whose name is in no code."""
    vars(owner)["_".join(["made", "up"])] = [number + 0.5 for number in range(ENTRIES)]
    return owner


@each_engine
def test_names_that_no_code_has_are_found_in_the_dict(engine: Engine) -> None:
    agent = with_secret(Agent(1))
    (answer,) = engine.inspect(targets=[*vars(agent).values()][-1:]).held
    assert answer is not None
    assert answer.held_by is not None
    assert answer.held_by.endswith("Agent.made_up")


@each_engine
def test_no_property_is_asked_for_a_name(engine: Engine) -> None:
    owner = with_secret(Slow())
    (answer,) = engine.inspect(targets=[*vars(owner).values()]).held
    assert answer is not None
    assert answer.held_by is not None
    assert answer.held_by.endswith("Slow.made_up")
