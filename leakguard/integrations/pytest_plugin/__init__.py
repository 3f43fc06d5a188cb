"""The pytest plugin: memory budgets for tests, and guards as fixtures.

This module has the pytest hooks. ``settings`` reads a test's mark, ``budget`` repeats the test,
``judgement`` decides whether the budget is kept, ``older`` counts objects from before the test, and
``outcomes`` writes the texts. pytest loads this module in every run, so other parts of leakguard
are imported only when a test needs them.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from leakguard.guard import LeakGuard
    from leakguard.integrations.pytest_plugin.budget import MemoryBudget
    from leakguard.integrations.pytest_plugin.older import Leavers
    from leakguard.integrations.pytest_plugin.outcomes import Session

MARK = "memory_budget"
HELP = (
    f'{MARK}(growth="1 GB", peak="4 GB", constant={{Class: 2}}, threads=0, open_files=0, warmup=1, '
    "generations=5, retries=2): run the test several times, or loop over the fixture of the same "
    "name, and fail when a generation adds more live memory or more objects than that"
)
# Arguments of the mark for which the ini file may set a default, as `leakguard_<name>`.
INI = {
    "growth": 'bytes of live memory that a generation may add, such as "1 GB"',
    "peak": "the highest RSS that a test may reach",
    "verdict": "fail on this diagnosis: leak, suspect or never (default: leak)",
    "threads": "threads that a generation may add",
    "open_files": "open files that a generation may add",
    "children": "child processes that a generation may add",
    "generations": "rounds of a memory budget (default: 5)",
    "warmup": "rounds at the start that do not count (default: 1)",
    "retries": "how often a broken budget gets as many rounds again (default: 2)",
}

_PLUGIN = Path(__file__).parent
_TWICE = (
    "The mark repeats the whole test, and this was not its first round. What can be done once only "
    "goes into a fixture; or let the test loop over the work that is to be repeated:\n"
    "    def test_...(memory_budget):\n"
    "        for generation in memory_budget.generations(5):\n"
    "            ..."
)
_FAILURES = frozenset({"MemoryBudgetBroken", "StillAlive"})

_budget = pytest.StashKey["MemoryBudget"]()
_guard = pytest.StashKey["LeakGuard"]()
_session = pytest.StashKey["Session"]()
_leavers: pytest.StashKey[Leavers] = pytest.StashKey()


# -- options ------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the command-line options and the ini options, which are named after the arguments."""
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
    """Register the mark, and in the main process the plugin that collects results of workers."""
    config.addinivalue_line("markers", HELP)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Collector(config), "leakguard-collector")


# -- one test -----------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Read the budget of a test before its fixtures make objects of their own."""
    if _lists_left(item.config):
        _session_of(item.config).begin()
    if _is_budgeted(item):
        item.stash[_budget] = _new_budget(item)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Repeat a marked test that does not loop by itself; for other tests, check their promises."""
    __tracebackhide__ = True
    budget = pyfuncitem.stash.get(_budget, None)
    if budget is None or not _is_repeated(pyfuncitem):
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
    """Add the outcomes of the budget to the test's report, as plain values for the collector."""
    report = yield
    budget = item.stash.get(_budget, None)
    if call.excinfo is not None and _is_own_error(call.excinfo.value):
        _show_failure(report, item)
    elif report.failed and budget is not None and budget.repeated and _is_repeated(item):
        report.sections.append((MARK, _TWICE))
    if budget is not None and call.when == "call":
        # If a test passes although its budget is broken, the test expected the failure. Then the
        # broken outcomes are left out.
        told = [one for one in budget.outcomes if report.failed or not one["broken"]]
        report.leakguard_outcomes = told  # type: ignore[attr-defined]
    if call.when == "teardown" and _lists_left(item.config):
        report.leakguard_left = _session_of(item.config).left_by(item.nodeid)  # type: ignore[attr-defined]
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Note what a test with a budget left behind, after its fixtures are torn down."""
    result = yield
    budget = item.stash.get(_budget, None)
    if budget is not None:
        item.config.stash[_leavers].note(item.nodeid, budget.older, budget.settings.classes)
    return result


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
    """Collects the results of tests, from this process or workers; reports them once per run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the plain values in a test's report."""
        outcomes = getattr(report, "leakguard_outcomes", ())
        left = getattr(report, "leakguard_left", None)
        if outcomes or left:
            _session_of(self._config).add(outcomes, left)

    def pytest_sessionfinish(self) -> None:
        """Write the files about the whole run."""
        if _session in self._config.stash:
            self._config.stash[_session].write(_folder(self._config))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print how the budgets were kept; nothing if there were none."""
        if _session in self._config.stash:
            terminalreporter.section("leakguard")
            for line in self._config.stash[_session].lines():
                terminalreporter.write_line(line)


# -- inside -------------------------------------------------------------------------------------


def _is_budgeted(item: pytest.Item) -> bool:
    return item.get_closest_marker(MARK) is not None


def _is_repeated(item: pytest.Item) -> bool:
    """Return whether the mark repeats the test; a test with the fixture loops by itself."""
    return MARK not in getattr(item, "fixturenames", ())


def _new_budget(item: pytest.Item) -> MemoryBudget:
    from leakguard.errors import LeakguardError
    from leakguard.integrations.pytest_plugin.budget import budget_for
    from leakguard.integrations.pytest_plugin.older import Leavers

    mark, config = item.get_closest_marker(MARK), item.config
    leavers = config.stash.setdefault(_leavers, Leavers())
    try:
        if mark is not None and mark.args:
            raise LeakguardError(f"{MARK} takes keyword arguments only, such as growth='1 GB'")
        arguments = mark.kwargs if mark else {}
        return budget_for(item, arguments, _ini(config), _folder(config), leavers)
    except LeakguardError as error:
        wrong = str(error)
    # Outside of the ``except`` block: inside, pytest would also print the error as the cause.
    pytest.fail(wrong, pytrace=False)


def _is_own_error(error: BaseException) -> bool:
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
    from leakguard.integrations.pytest_plugin.outcomes import Session

    return config.stash.setdefault(_session, Session())


def _repeated(body: Callable[..., object], budget: MemoryBudget) -> Callable[..., None]:
    @functools.wraps(body)
    def rounds(*args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        for _ in budget.generations():
            body(*args, **kwargs)

    return rounds


def _settle(item: pytest.Item, budget: MemoryBudget | None) -> None:
    """Fail a test that kept promised objects alive, or that never used its budget fixture."""
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


def _show_failure(report: pytest.TestReport, item: pytest.Item) -> None:
    """Show only the message, at the place of the test, if no line of the test raised the error.

    pytest's own objects are changed in place, because only its own classes can be sent by a worker.
    """
    trace: Any = getattr(report.longrepr, "reprtraceback", None)
    crash: Any = getattr(report.longrepr, "reprcrash", None)
    if trace is None or crash is None or not trace.reprentries:
        return
    kind, _, message = crash.message.partition(": ")
    if kind.rsplit(".", 1)[-1] in _FAILURES:
        crash.message = message  # without the error's class: the summary has only one line
    trace.extraline = None
    last = trace.reprentries[-1]
    place, line, _ = item.location
    if last.reprfileloc is not None and _is_users(last.reprfileloc.path, item):
        last.lines = [*_broken(last.lines)]
        return  # a line of the test is shown
    last.lines = [*_broken(f"E   {text}".rstrip() for text in crash.message.split("\n"))]
    trace.reprentries = [last]
    crash.path, crash.lineno = os.fspath(item.path), (line or 0) + 1
    if last.reprfileloc is not None:
        last.reprfileloc.path, last.reprfileloc.lineno = place, (line or 0) + 1


def _broken(lines: Iterable[str]) -> Iterator[str]:
    """Wrap the lines of an error to 80 columns; pytest indents them by four or eight columns."""
    from leakguard.integrations.pytest_plugin.outcomes import fitting

    for line in lines:
        if line.startswith("E "):
            yield from (f"E   {part}".rstrip() for part in fitting([line[4:]], 76))
        else:
            yield line


def _is_users(path: str, item: pytest.Item) -> bool:
    """Return whether a file belongs neither to this plugin nor to pytest."""
    file = item.config.invocation_params.dir / path
    return _PLUGIN not in file.parents and "_pytest" not in file.parts
