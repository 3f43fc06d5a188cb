"""The pytest plugin: memory budgets for tests, and guards as fixtures.

Hooks translate here; ``settings``, ``budget`` and ``judgement`` decide. pytest loads this module in
every run, so nothing else of leakguard is imported before a test asks for it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from leakguard.integrations.pytest_plugin.failure import show_failure
from leakguard.integrations.pytest_plugin.options import HELP, INI, MARK

if TYPE_CHECKING:
    from leakguard.guard import LeakGuard
    from leakguard.integrations.pytest_plugin.budget import MemoryBudget
    from leakguard.integrations.pytest_plugin.session import Session

_FAILURES = frozenset({"MemoryBudgetBroken", "StillAlive"})

_budget = pytest.StashKey["MemoryBudget"]()
_guard = pytest.StashKey["LeakGuard"]()
_session = pytest.StashKey["Session"]()


# -- options ------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options; the ini file's defaults have the names of the mark's arguments."""
    group = parser.getgroup("leakguard", "memory budgets and leaks")
    group.addoption(
        "--leakguard",
        action="store_true",
        help="List the tests that leave most live memory, threads or files behind.",
    )
    group.addoption(
        "--leakguard-report",
        metavar="DIR",
        type=Path,
        help="Write the run and the report of every memory budget into DIR.",
    )
    parser.addini("leakguard", "same as --leakguard", type="bool", default=False)
    parser.addini("leakguard_report", "same as --leakguard-report", default="")
    for name, meaning in INI.items():
        parser.addini(f"leakguard_{name}", meaning, default="")


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark, and the one who collects what workers send."""
    config.addinivalue_line("markers", HELP)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Collector(config), "leakguard-collector")


# -- one test -----------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Read the budget of a test before its fixtures make objects of their own."""
    if _is_budgeted(item):
        item.stash[_budget] = _new_budget(item)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Repeat a marked test that does not loop by itself; judge what was promised by any other."""
    __tracebackhide__ = True
    budget = pyfuncitem.stash.get(_budget, None)
    if budget is None or MARK in pyfuncitem.fixturenames:
        result = yield
        _settle(pyfuncitem, budget)
        return result
    body = pyfuncitem.obj
    pyfuncitem.obj = _repeated(body, budget)
    try:
        return (yield)
    finally:
        pyfuncitem.obj = body


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Hand what became of the budget to whoever collects the reports, as plain values."""
    report = yield
    if call.excinfo is not None and _is_ours(call.excinfo.value):
        show_failure(report, item)
    budget = item.stash.get(_budget, None)
    if budget is not None and call.when == "call":
        # A test that passes although its budget is broken expected just that.
        told = [one for one in budget.outcomes if report.failed or not one["broken"]]
        report.leakguard_outcomes = told  # type: ignore[attr-defined]
    if call.when == "teardown" and _lists_left(item.config):
        report.leakguard_left = _session_of(item.config).left_by(item.nodeid)  # type: ignore[attr-defined]
    return report


@pytest.fixture
def memory_budget(request: pytest.FixtureRequest) -> Iterator[MemoryBudget]:
    """Rounds of the same work, held against the limits of the test's ``memory_budget`` mark.

    Without a mark the limits of the ini file hold, and in any case that there is no leak.
    """
    node = request.node
    if _budget not in node.stash:
        node.stash[_budget] = _new_budget(node)
    budget = node.stash[_budget]
    yield budget
    budget.close()


@pytest.fixture
def leakguard(request: pytest.FixtureRequest) -> Iterator[LeakGuard]:
    """A guard that is active during the test; its cost is not limited."""
    from leakguard.guard import LeakGuard

    with LeakGuard(max_overhead=None, name=request.node.nodeid, report=None) as guard:
        request.node.stash[_guard] = guard
        yield guard


@pytest.fixture
def expect_freed(leakguard: LeakGuard) -> Callable[..., None]:
    """Say what should be gone when the test is over; what is not fails it, with who holds it."""
    return leakguard.expect_freed


# -- the whole run ------------------------------------------------------------------------------


class _Collector:
    """Gathers what the tests found out, here or in workers, and reports it once a run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the plain values that came with a report."""
        outcomes = getattr(report, "leakguard_outcomes", ())
        left = getattr(report, "leakguard_left", None)
        if outcomes or left:
            _session_of(self._config).add(outcomes, left)

    def pytest_sessionfinish(self) -> None:
        """Write the files about the whole run."""
        if _session in self._config.stash:
            self._config.stash[_session].write(_folder(self._config))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say how the budgets were kept; nothing when there were none."""
        if _session in self._config.stash:
            terminalreporter.section("leakguard")
            for line in self._config.stash[_session].lines():
                terminalreporter.write_line(line)


# -- inside -------------------------------------------------------------------------------------


def _is_budgeted(item: pytest.Item) -> bool:
    return item.get_closest_marker(MARK) is not None


def _new_budget(item: pytest.Item) -> MemoryBudget:
    from leakguard.errors import LeakguardError
    from leakguard.integrations.pytest_plugin.preparation import prepared

    mark = item.get_closest_marker(MARK)
    try:
        if mark is not None and mark.args:
            raise LeakguardError(f"{MARK} takes keyword arguments only, such as growth='1 GB'")
        return prepared(item, mark.kwargs if mark else {}, _ini(item.config), _folder(item.config))
    except LeakguardError as error:
        pytest.fail(str(error), pytrace=False)


def _is_ours(error: BaseException) -> bool:
    return type(error).__name__ in _FAILURES and type(error).__module__ == "leakguard.errors"


def _ini(config: pytest.Config) -> dict[str, str]:
    texts = {name: str(config.getini(f"leakguard_{name}")) for name in INI}
    return {name: text for name, text in texts.items() if text}


def _folder(config: pytest.Config) -> Path | None:
    chosen = config.getoption("leakguard_report") or config.getini("leakguard_report")
    return config.invocation_params.dir / chosen if chosen else None


def _lists_left(config: pytest.Config) -> bool:
    return bool(config.getoption("leakguard") or config.getini("leakguard"))


def _session_of(config: pytest.Config) -> Session:
    from leakguard.integrations.pytest_plugin.session import Session

    return config.stash.setdefault(_session, Session())


def _repeated(body: Callable[..., object], budget: MemoryBudget) -> Callable[..., None]:
    @functools.wraps(body)
    def rounds(*args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        for _ in budget.generations():
            body(*args, **kwargs)

    return rounds


def _settle(item: pytest.Item, budget: MemoryBudget | None) -> None:
    """Fail a test that kept promised objects alive, or that never used the budget it asked for."""
    __tracebackhide__ = True
    guard = item.stash.get(_guard, None)
    if guard is not None:
        _assert_freed(guard)
    missing = budget.unfinished() if budget is not None else None
    if missing is not None:
        pytest.fail(f"memory budget not judged: {missing}", pytrace=False)


def _assert_freed(guard: LeakGuard) -> None:
    __tracebackhide__ = True
    from leakguard.errors import StillAlive

    try:
        guard.assert_freed()
    except StillAlive as error:
        raise StillAlive(str(error)) from None
