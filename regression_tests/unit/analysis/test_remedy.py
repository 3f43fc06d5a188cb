"""A fix follows the last hop to what is held and what was seen of it, never the type alone."""

from __future__ import annotations

import pytest

from leakguard.analysis.words.remedy import name_of, release, remedy
from leakguard.model import Holder, Hop

TENSOR = "torch.Tensor"


def holder(path: str, element: str, *hops: tuple[str, str], **more) -> Holder:
    return Holder(path, element, 10, trace=tuple(Hop(*hop) for hop in hops), **more)


def kept(container: str, element: str = TENSOR, **more) -> Holder:
    hops = (("app", "dict"), (".kept", container), ("[*]", element))
    return holder("app.kept[*]", element, *hops, **more)


@pytest.mark.parametrize(
    ("found", "said", "unsaid"),
    [
        (kept("list"), "deque(maxlen=...)", ("item()", "clone()")),
        (kept("dict"), "OrderedDict", ("item()", "deque")),
        (kept("collections.OrderedDict"), "popitem", ("item()", "deque")),
        (kept("list", traits=("views",)), "clone()", ("item()",)),
        (kept("list", traits=("graphs",)), "item()", ("clone()",)),
        (kept("list", graph_nodes=12), "item()", ("clone()",)),
    ],
    ids=["list", "dict", "ordered dict", "views", "with a grad_fn", "graph behind it"],
)
def test_tensors_are_told_by_what_was_seen_of_them(found, said, unsaid):
    fix = remedy(TENSOR, found)
    assert said in fix
    assert not [word for word in unsaid if word in fix]


def test_copies_of_a_state_dict_are_written_to_disk_or_only_the_best_kept():
    plain = kept("list", "collections.OrderedDict")
    pairs = kept("list", "tuple", onward=(
        Hop("[*]", "collections.OrderedDict"), Hop("['0.weight']", TENSOR),
    ))  # fmt: skip
    assert "torch.save" in remedy(TENSOR, plain)
    assert "torch.save" in remedy(TENSOR, pairs)
    assert "torch.save" not in remedy("app.Row", plain)


def test_scheduler_that_keeps_its_optimizer_is_no_state_dict():
    schedulers = kept("list", "torch.optim.lr_scheduler.StepLR", onward=(
        Hop(".optimizer", "torch.optim.adam.Adam"), Hop(".state", "dict"), Hop("[*]", TENSOR),
    ))  # fmt: skip
    fix = remedy("torch.optim.adam.Adam", schedulers)
    assert "torch.save" not in fix
    assert "scheduler keeps its optimizer (app.kept[*])" in fix


def test_callbacks_are_taken_back_and_not_lost_to_a_bound():
    fix = remedy("app.Model", kept("list", "function"))
    assert "app.kept.remove(f)" in fix
    assert "deque" not in fix


@pytest.mark.parametrize("container", ["list", "dict"])
def test_entries_are_cleared_first_and_bounded_only_where_they_may_be_lost(container):
    fix = remedy("app.Row", kept(container, "app.Row"))
    said = ("clear it in every generation", "remove each entry when its work is done")
    assert fix.startswith(f"app.kept[*] only grows: {said[container == 'dict']}")
    assert "may be lost" in fix


@pytest.mark.parametrize(
    "more",
    [
        {"traits": ("exceptions",)},
        {"onward": (Hop(".__traceback__", "traceback"), Hop("local page in f()", "app.Page"))},
    ],
    ids=["an exception is an entry", "a traceback lies on the way"],
)
def test_kept_exception_is_told_by_its_traceback_whatever_its_locals_are(more):
    fix = remedy("app.Page", kept("dict", "app.BadPage", **more))
    assert "with_traceback(None)" in fix
    assert "str(error)" in fix


def test_frames_of_generators_are_no_exceptions():
    running = kept("list", "app.Page", onward=(Hop("local page in f()", "app.Page"),))
    assert "with_traceback" not in remedy("app.Page", running)


def test_chain_of_instances_is_cut_at_its_link_and_has_no_index():
    chain = holder(
        "app.Run.population[*].parent[*]", "app.One",
        ("local run in main()", "app.Run"), (".population", "list"), ("[*]", "app.One"),
        (".parent", "app.One"), traits=("chain",),
    )  # fmt: skip
    fix = remedy("app.One", chain)
    assert ".parent to None" in fix
    assert "deque" not in fix
    assert name_of(chain) == "app.Run.population[*].parent"


@pytest.mark.parametrize(
    ("path", "container", "element", "said"),
    [
        ("_asyncio._current_tasks → key._scheduled[*]", "list", "asyncio.events.TimerHandle",
         "handle.cancel()"),
        ("app.Server.loop._ready[*]", "collections.deque", "asyncio.events.Handle", "call_soon"),
        ("_asyncio._all_tasks.data[*]", "set", "weakref.ReferenceType", "end the tasks"),
        ("weakref.finalize._registry[*]", "dict", "weakref.finalize._Info", "plain function"),
        ("logging.root.manager.loggerDict[*]", "dict", "logging.Logger", "fixed name"),
        ("app.Job.stack._exit_callbacks[*]", "collections.deque", "tuple", "ExitStack"),
        ("gc.callbacks[*]", "list", "function", "gc.callbacks.remove"),
    ],
)  # fmt: skip
def test_container_of_the_runtime_is_left_alone_and_the_user_takes_back_what_he_gave(
    path, container, element, said
):
    fix = remedy(element, holder(path, element, (".it", container), ("[*]", element)))
    assert said in fix
    assert "only grows" not in fix
    assert "deque(" not in fix


def test_list_of_the_program_with_a_name_of_the_runtime_s_is_its_own():
    own = holder("app.Planner._scheduled[*]", "app.Job", (".it", "list"), ("[*]", "app.Job"))
    assert "app.Planner._scheduled[*] only grows" in remedy("app.Job", own)
    assert name_of(own) is None


def test_timers_of_the_event_loop_have_a_name_that_a_person_knows():
    timers = holder("_asyncio._current_tasks → key._scheduled[*]", "asyncio.events.TimerHandle")
    assert name_of(timers) == "timers of the running event loop (call_later / call_at)"


@pytest.mark.parametrize(
    ("label", "said"),
    [
        (".env", "overwrite app.it"),
        ("local old in train()", "del old"),
        ("closure cell env of step", "closure"),
        ("[*]", "remove it from app.it"),
    ],
)
def test_one_object_that_should_be_gone_is_released_by_the_last_hop_to_it(label, said):
    assert said in release("app.One", holder("app.it", "app.One", (label, "app.One")))


def test_objects_that_no_container_was_found_for_are_given_no_cause_that_nobody_measured():
    assert "is unknown" in remedy("app.One")
    assert "atexit" not in remedy("app.One")
