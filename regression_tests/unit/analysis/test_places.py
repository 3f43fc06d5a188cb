"""The place that a container is decides what there is to change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard.analysis.knowledge import place_of
from leakguard.analysis.knowledge.places import with_bound
from leakguard.analysis.words.remedy import remedy
from leakguard.model import Holder, Hop


def holder(path: str, element: str, *types: str, graph_nodes: int | None = None) -> Holder:
    trace = tuple(Hop(".part", name) for name in types)
    return Holder(path, element, 10, trace=trace, graph_nodes=graph_nodes)


@pytest.mark.parametrize(
    ("found", "name", "kind", "words"),
    [
        (
            holder("matplotlib._pylab_helpers.Gcf.figs[*]", "matplotlib.FigureManagerBase"),
            "open figures",
            None,
            "plt.close(figure)",
        ),
        (
            holder("torch.nn.Sequential[0]._forward_hooks[*]", "app.Probe"),
            "module hooks",
            None,
            "handle.remove()",
        ),
        (
            holder("torch.optim.adam.Adam.state[*]", "dict", "torch.optim.adam.Adam", "dict"),
            "optimizer state of dead parameters",
            None,
            "new optimizer",
        ),
        (
            holder("app.Page.rendered → lru_cache of Page.rendered[*]", "str"),
            "cache of a method or function",
            None,
            "cached_property",
        ),
        (
            holder("app.pools[*]", "multiprocessing.pool.Pool"),
            "pools that are not closed",
            None,
            "close() and join() each pool",
        ),
        (
            holder("multiprocessing.process._children[*]", "multiprocessing.context.ForkProcess"),
            "child processes that nobody ended",
            "children",
            "join() each process",
        ),
        (
            holder("logging.Logger.manager.loggerDict['app.sweep'].handlers[*]", "app.Handler"),
            "logging handlers",
            None,
            "removeHandler",
        ),
        (
            holder("app.pool._work_queue[*]", "concurrent.futures.thread._WorkItem"),
            "backlog of an executor",
            "queue",
            "submit no faster",
        ),
        (
            holder("app.broker.inbox._queue[*]", "app.Event", "asyncio.queues.Queue", "deque"),
            "queue without a bound",
            "queue",
            "maxsize",
        ),
        (
            holder("app.gateway.pending[*]", "_asyncio.Task", "set"),
            "tasks that never end",
            "tasks",
            "cancel",
        ),
        (
            holder("logging.Logger.manager.loggerDict['a'].handlers[*]", "app.AuditHandler"),
            "logging handlers",
            None,
            "removeHandler",
        ),
        (
            holder("app.supervisor.errors[*]", "app.ParseError", "list"),
            "stored exceptions",
            None,
            "__traceback__",
        ),
        (holder("context variable spans[*]", "app.Span"), "context variable", None, "token"),
        (
            holder("app.writer.scalars['loss'][*]", "tuple"),
            "scalar history of a writer",
            None,
            "maxlen",
        ),
        (holder("app.bus.listeners[*]", "method"), "listeners", None, "unsubscribe"),
    ],
    ids=lambda value: value.path if isinstance(value, Holder) else None,
)  # fmt: skip
def test_known_place_has_its_own_kind_and_fix(found, name, kind, words):
    place = place_of(found)
    assert place is not None
    assert (place.name, place.kind) == (name, kind)
    assert words in remedy(found.element, found)
    assert "{" not in remedy(found.element, found)


@pytest.mark.parametrize(
    "found",
    [
        holder("app.Trainer.envs[*]", "app.TradingEnv", "app.Trainer", "list"),
        holder("app.Server.responses[*]", "app.Response", "app.Server", "dict"),
        holder("app.state[*]", "app.Row", "dict"),
    ],
    ids=lambda found: found.path,
)
def test_container_of_the_program_is_no_special_place(found):
    assert place_of(found) is None
    assert found.path in remedy(found.element, found)


def test_kept_graphs_need_another_fix_than_the_place_they_are_in():
    kept = holder("app.writer.history[*]", "float", graph_nodes=100)
    assert "item()" in remedy("torch.Tensor", kept)


def test_bound_that_a_library_keeps_is_known():
    digests = holder("app.session._trait_values['digest_history'][*]", "bytes")
    assert with_bound(digests).capacity == 65_536
    assert with_bound(replace(digests, capacity=7)).capacity == 7
    assert with_bound(holder("app.history[*]", "bytes")).capacity is None
