"""Tests with budgets, kept and broken. Run by ``conftest.py``, never collected here."""

from __future__ import annotations

import logging

import pytest

from leakguard import expect_freed as freed
from leakguard.live.active import active_guard


class Env:
    """An object of the program."""

    def __init__(self, size: int = 300_000) -> None:
        self.data = bytearray(size)


class Other(Env):
    """Another one."""


KEPT = []
LOOPED = []
SLOW = []

# Decided at once: these tests are about the way through pytest, not about statistics.
once = {"generations": 4, "retries": 0}


@pytest.mark.memory_budget(constant={Other: 0}, generations=4, retries=1)
def test_leak():
    KEPT.append(Other())


@pytest.mark.memory_budget(growth="100 kB", **once)
def test_leak_in_a_loop(memory_budget):
    for _generation in memory_budget.generations(4):
        LOOPED.append(Env())  # noqa: PERF401


@pytest.mark.memory_budget(
    growth="100 kB",
    peak="1 TB",
    constant={Env: (0, 1)},
    threads=0,
    open_files=0,
    children=0,
    **once,
)
def test_kept():
    Env()


@pytest.mark.memory_budget(growth="100 kB", generations=4, retries=2)
def test_filling():
    if len(SLOW) < 5:
        SLOW.append(bytes(2_000_000))


@pytest.mark.memory_budget(constant={Other: 0}, **once)
def test_instances_of_other_tests():
    Env()


@pytest.mark.memory_budget(generations=5, retries=0)
def test_cycle():
    env = Env(2_000_000)
    env.itself = env


@pytest.mark.memory_budget
def test_left_early(memory_budget):
    for _generation in memory_budget.generations(5):
        break


def test_never_looped(memory_budget):
    pass


@pytest.mark.memory_budget(**once)
def test_wrong():
    assert not KEPT, "something kept"


@pytest.mark.memory_budget(**once)
def test_skipped():
    pytest.skip("not today")


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.memory_budget(growth="100 kB", **once)
def test_parameter(kept):
    env = Env()
    if kept:
        KEPT.append(env)


@pytest.mark.memory_budget(growth="100 kB", **once)
def test_logs(caplog):
    logging.getLogger().warning("step %s", Env())
    assert len(caplog.records) == 1


@pytest.mark.memory_budget(constant={"Enviroment": 0}, **once)
def test_misspelt_type():
    Env()


@pytest.mark.memory_budget(grwth="1 MB")
def test_misspelt_argument():
    pass


@pytest.mark.memory_budget(growth="a lot")
def test_size():
    pass


@pytest.mark.memory_budget("1 MB")
def test_positional():
    pass


@pytest.mark.memory_budget(generations=2)
def test_few():
    pass


@pytest.mark.memory_budget
async def test_coroutine():
    pass


def test_promise_broken(expect_freed):
    env = Env()
    expect_freed(env, "replaced")
    KEPT.append(env)


def test_promise_kept(expect_freed):
    expect_freed([Env(), Env()])


def test_promise_through_the_package(leakguard):
    env = Env()
    KEPT.append(env)
    freed(env)


def test_guard(leakguard):
    for _generation in leakguard.generations(range(1, 4)):
        with leakguard.phase("work"):
            Env()
    assert leakguard.run.generations == (1, 2, 3)
    assert leakguard.run.phases == ("work",)
    assert leakguard.report().findings == ()


def test_raises_in_the_loop(memory_budget):
    for _generation in memory_budget.generations(5):
        raise RuntimeError("inside")


def test_no_guard_is_left():
    assert active_guard() is None
