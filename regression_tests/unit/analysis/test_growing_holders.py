"""Containers followed from look to look, on runs whose holders are told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from leakguard import diagnose
from leakguard.analysis.contribution import type_contribution
from leakguard.analysis.growth import Growth
from leakguard.analysis.sources.containers import related
from leakguard.analysis.timeline import count_reader
from leakguard.model import Collection, Gauge, Holder, Run
from leakguard.model.holder import Hop, Trait
from leakguard.testing import RunStory, State

MB = 1_000_000


def run(
    held: Callable[[int], Holder | None],
    counts: Callable[[int], dict[str, int]] = lambda n: {"list": 1000},
    heap: int = 0,
    rounds: int = 10,
) -> Run:
    """Tell a run in whose generation n the look finds ``held(n)``."""
    told = RunStory()
    told.baseline(State({"rss": 100 * MB, "heap_in_use": 50 * MB}, counts(0)))
    for n in range(1, rounds + 1):
        told.generation(
            work=State({"rss": 100 * MB + n * heap, "heap_in_use": 50 * MB + n * heap}, counts(n))
        )

    def with_holder(snapshot):
        if snapshot.moment != "generation":
            return snapshot
        holder = held(snapshot.generation)
        return replace(snapshot, holders=() if holder is None else (holder,))

    story = told.run()
    return replace(story, snapshots=tuple(map(with_holder, story.snapshots)))


def entries(path: str, n: int, step: int, size: int = 1000, **more) -> Holder:
    """Tell a list that has grown by ``step`` entries in each of n looks."""
    return Holder(
        path,
        more.pop("element", "app.Ticket"),
        step * n,
        step * (n - 1),
        n - 1,
        retained_bytes=step * n * size,
        **more,
    )


def text(n: int, step: int) -> Holder:
    size = 100_000 + step * n
    return Holder("app.Console.transcript", "str", 1, streak=n - 1 if step else 0, bytes=size,
                  retained_bytes=size)  # fmt: skip


def test_text_that_is_extended_is_a_leak_with_its_holder():
    (finding,) = diagnose(run(lambda n: text(n, 400_000), heap=400_000)).findings
    assert (finding.verdict, finding.type) == ("leak", "str")
    assert (finding.held_by, finding.phase) == ("app.Console.transcript", "work")
    assert finding.started_at == 1


def test_text_of_constant_length_is_silent():
    assert diagnose(run(lambda n: text(n, 0))).findings == ()


def test_history_of_tuples_is_found_though_their_number_moves_otherwise_too():
    held = lambda n: entries("app.Writer.scalars['loss'][*]", n, 60, 110, element="tuple")  # noqa: E731
    noisy = [0, 9000, 9010, 9500, 9560, 9620, 11000, 11060, 11120, 11180, 11240]
    (finding,) = diagnose(run(held, counts=lambda n: {"tuple": 50_000 + noisy[n]})).findings
    assert (finding.verdict, finding.type) == ("leak", "tuple")
    assert finding.count_per_generation == 60
    assert "deque(maxlen" in finding.fix


def test_one_line_about_each_generation_is_cleared():
    held = lambda n: entries("app.results[*]", n, 1, 2_000, element="dict")  # noqa: E731
    report = diagnose(run(held, counts=lambda n: {"dict": 1000 + n}))
    assert (report.verdict, report.findings) == ("stable", ())


def test_bounded_container_that_fills_is_cleared_until_its_bound():
    held = lambda n: entries("app.cache.entries[*]", n, 60, capacity=5_000)  # noqa: E731
    report = diagnose(run(held, counts=lambda n: {"app.Ticket": 60 * n}, heap=60_000))
    assert report.findings == ()
    assert any(c.pattern == "filling" and "5,000" in c.reason for c in report.cleared)


def test_array_that_is_extended_has_no_bound_by_its_empty_slots():
    held = lambda n: entries("app.slots[*]", n, 30, capacity=50 * (1 + 30 * n // 50))  # noqa: E731
    (finding,) = diagnose(run(held, counts=lambda n: {"app.Ticket": 30 * n}, heap=30_000)).findings
    assert (finding.verdict, finding.held_by) == ("leak", "app.slots[*]")


def test_bound_of_a_deque_does_not_excuse_graphs_and_is_not_denied():
    held = lambda n: entries(  # noqa: E731
        "app.losses[*]", n, 10, 50_000, element="torch.Tensor", capacity=1_000, graph_nodes=90 * n
    )
    (finding,) = diagnose(
        run(held, counts=lambda n: {"torch.Tensor": 100 + 10 * n}, heap=500_000)
    ).findings
    assert (finding.verdict, finding.kind) == ("leak", "autograd")
    assert "has no bound" not in finding.reason
    assert "bound does not help" in finding.reason


def _with_gauge(told: Run, capacity: int) -> Run:
    def gauged(snapshot):
        number = snapshot.generation or 0
        return replace(snapshot, gauges={"buffer": Gauge(100 * number, capacity)})

    return replace(told, snapshots=tuple(map(gauged, told.snapshots)))


def test_gauge_excuses_its_buffer_after_the_looks_have_ended():
    def told(step):
        return run(
            lambda n: (
                entries("app.Replay.rows[*]", n, step, element="numpy.ndarray") if n <= 8 else None
            ),
            counts=lambda n: {"numpy.ndarray": step * n},
        )

    assert diagnose(_with_gauge(told(100), 2_000)).findings == ()
    assert diagnose(_with_gauge(told(70), 2_000)).findings


def test_container_that_gains_as_many_is_named_after_few_looks():
    def told(element):
        return run(
            lambda n: (
                replace(entries("app.Store.kept[*]", n, 3, element=element), streak=n - 6)
                if n >= 6
                else None
            ),
            counts=lambda n: {"bytes": 1_000 + 3 * n},
            heap=300_000,
        )

    def holders_of(told):
        return [f.held_by for f in diagnose(told).findings if f.type == "bytes"]

    assert holders_of(told("bytes")) == ["app.Store.kept[*]"]
    assert holders_of(told("list")) == []


@pytest.mark.parametrize(
    ("onward", "type_"),
    [
        ((Hop("[*]", "tuple"), Hop("[*]", "contextlib.Guarded")), "contextlib.Guarded"),
        ((), "tuple"),
    ],
    ids=["inside", "as many elsewhere"],
)
def test_class_inside_each_tuple_is_named_before_the_tuples(onward, type_):
    (finding, *_) = diagnose(
        run(
            lambda n: entries("app.Store.stack[*]", n, 15, element="tuple", onward=onward),
            counts=lambda n: {"tuple": 26 * n, "contextlib.Guarded": 15 * n, "int": 15 * n},
        )
    ).findings
    assert (finding.type, finding.held_by) == (type_, "app.Store.stack[*]")


def test_phase_is_known_although_the_guard_collected_in_between():
    told = run(lambda n: None, counts=lambda n: {"app.Order": 10 * (n if n <= 5 else n - 5)})

    def collected(snapshot):
        if (snapshot.moment, snapshot.generation) != ("generation", 5):
            return snapshot
        return replace(snapshot, collection=Collection(50, types={"app.Order": 50}))

    told = replace(told, snapshots=tuple(map(collected, told.snapshots)))
    read = count_reader("app.Order")
    assert type_contribution(told, "app.Order", read).by_phase["work"] == 10
    assert type_contribution(told, "app.Order", read).main_phase() == "work"


def test_native_memory_of_open_figures_is_part_of_their_leak():
    def told(path):
        def counts(n):
            return {"matplotlib.figure.Figure": 3 + n, "dict": 100 + 9 * n}

        return run(
            lambda n: entries(path, n, 1, element="matplotlib.figure.Figure"), counts, heap=2 * MB
        )

    for path in ("matplotlib._pylab_helpers.Gcf.figs[*]", "app.Album.pages[*]"):
        (finding,) = diagnose(told(path)).findings
        assert finding.held_by == path
        assert finding.bytes_per_generation == pytest.approx(2 * MB, rel=0.05)


def loaders_and_weights(apart: bool) -> Run:
    """Tell a run that gains a loader and 41 weights a generation, in one place or in two."""
    last = 24
    story = RunStory()
    for n in range(1, last + 1):
        counts = {"lib.Loader": 1 + n, "torch.Tensor": 100 + 41 * n}
        sizes = {"lib.Loader": 800 * n, "torch.Tensor": MB + MB // 2 * n}
        size = 50 * MB + MB // 2 * n
        metrics = {"rss": 100 * MB + size, "heap_in_use": size}
        looked = n in (2, 11, last)
        story.generation(work=State(metrics, counts, sizes) if looked else State(metrics))
    told = story.run()
    loaders = Holder("lib.Trainer.loaders[*]", "lib.Loader", 25, retained_bytes=12 * MB)
    weights = Holder("app.Best.weights[*][*]", "torch.Tensor", 984, retained_bytes=12 * MB)
    held = (replace(loaders, retained_bytes=20_000), weights) if apart else (loaders,)
    ends = [
        replace(s, holders=held) if (s.moment, s.generation) == ("generation", last) else s
        for s in told.snapshots
    ]
    return replace(told, snapshots=tuple(ends))


def test_what_comes_beside_a_class_is_held_by_what_keeps_its_bytes():
    (finding,) = diagnose(loaders_and_weights(apart=True)).findings
    assert (finding.type, finding.held_by) == ("torch.Tensor", "app.Best.weights[*][*]")
    (finding,) = diagnose(loaders_and_weights(apart=False)).findings
    assert (finding.type, finding.held_by) == ("lib.Loader", "lib.Trainer.loaders[*]")


def test_list_of_numbers_does_not_hold_what_grows_beside_it():
    sizes = run(
        lambda n: entries("app.codec.sizes[*]", n, 2, 36, element="int"),
        lambda n: {"int": 3_000 + 2 * n, "ctypes.c_char_Array": 2 * n},
        heap=2 * 260_000,
    )

    def sized(snapshot):
        counted = snapshot.census
        if counted is None:
            return snapshot
        arrays = counted.types.get("ctypes.c_char_Array")
        if arrays is None:
            return snapshot
        large = replace(arrays, bytes=arrays.count * 260_000)
        return replace(
            snapshot,
            census=replace(counted, types={**counted.types, "ctypes.c_char_Array": large}),
        )

    report = diagnose(replace(sizes, snapshots=tuple(map(sized, sizes.snapshots))))

    assert report.verdict == "leak"
    assert [(f.type, f.held_by) for f in report.findings] == [("ctypes.c_char_Array", None)]


def test_cache_whose_keys_are_numbers_holds_its_values():
    told = run(
        lambda n: entries("app.kernels[*]", n, 2, 100_000, element="float"),
        lambda n: {"numpy.ndarray": 40 + 2 * n, "float": 500 + 2 * n},
        heap=200_000,
    )

    (finding,) = diagnose(told).findings

    assert (finding.held_by, finding.bytes_per_generation) == ("app.kernels[*]", 200_000)


def chained(traits: tuple[Trait, ...]) -> Run:
    """Tell a run that gains one small span a generation, held by a list or by the next span."""
    way = (Hop("app", "dict"), Hop(".current", "app.Span"), Hop(".parent", "app.Span"))

    def held(n: int) -> Holder:
        told = {"element": "app.Span", "traits": traits, "trace": way}
        return entries("app.Span.parent[*]", n, 1, 286, **told)

    return run(held, counts=lambda n: {"app.Span": n, "list": 1000}, rounds=30)


def test_chain_of_small_objects_is_a_leak_where_a_list_of_them_is_a_record():
    (finding,) = diagnose(chained(("chain",))).findings
    assert (finding.type, finding.held_by) == ("app.Span", "app.Span.parent[*]")
    assert diagnose(chained(())).findings == ()


def test_large_container_that_gains_nothing_is_not_the_holder():
    gained = [380, 580, 700, 820, 1_040, 3_840, 6_580, 6_780, 6_980]  # two long generations
    told = run(lambda n: None, lambda n: {"app.Node": 100_000 + gained[n]}, heap=100_000, rounds=8)

    def looked(snapshot):
        n = snapshot.generation
        if snapshot.moment != "generation" or n < 3:
            return snapshot
        still = Holder("app.Main.alive", "app.Node", 100_000, retained_bytes=60 * MB)
        more = Holder("app.registry", "app.Node", 80 + gained[n], 80 + gained[n - 1], n - 2,
                      retained_bytes=600 * gained[n])  # fmt: skip
        return replace(snapshot, holders=(still, more))

    (finding,) = diagnose(replace(told, snapshots=tuple(map(looked, told.snapshots)))).findings
    assert finding.held_by == "app.registry"


@pytest.mark.parametrize(("each", "held_by"), [(1, None), (400, "app.results[*]")])
def test_container_that_gains_a_trifle_of_its_type_is_no_holder(each, held_by):
    told = run(
        lambda n: entries("app.results[*]", n, each, 32, element="float"),
        lambda n: {"float": 1_000 + 2_000 * n},
        heap=64_000,
    )
    assert [finding.held_by for finding in diagnose(told).findings][:1] == [held_by]


def test_container_in_a_key_of_a_container_lies_inside_of_it():
    def at(path: str) -> Growth:
        return Growth("container", path, "container")

    cache = at("app.rows → lru_cache of rows[*]")
    assert cache.holds(at("app.rows → lru_cache of rows → key[*].items[*]"))
    assert cache.holds(at("app.rows → lru_cache of rows[*].items[*]"))
    assert not cache.holds(at("app.rows → lru_cache of rows[*]"))
    assert not cache.holds(at("app.keys[*]"))
    assert related(at("app.rows → lru_cache of rows → key[*].items[*]"), cache.name)
    assert not related(at("app.keys[*]"), cache.name)


@pytest.mark.parametrize(("containers", "inside"), [(1, False), (16, True), (None, True)])
def test_one_container_to_which_all_entries_lead_is_not_inside_of_them(containers, inside):
    path = "app.callbacks[*] → bound method self.items[*]"
    items = Holder(path, "app.Item", 40, containers=containers)
    inner = Growth("container", path, "container", holder=items)
    callbacks = Growth("container", "app.callbacks[*]", "container")

    assert callbacks.holds(inner) is inside
    assert related(inner, callbacks.name) is inside
    assert related(callbacks, inner.name)


def test_outer_container_that_gains_unevenly_is_named_rather_than_what_lies_in_its_entries():
    """Looks at uneven times: the entries of each say too little, and live memory rises steadily."""
    seen = {2: 570, 3: 684, 4: 762, 5: 843, 6: 960, 11: 1335, 12: 1437}
    counts = lambda n: dict.fromkeys(("app.Ticket", "list", "float"), 350 + 84 * n)  # noqa: E731
    told = run(lambda n: None, counts, heap=53_000, rounds=12)
    looks = sorted(seen)

    def both(generation: int) -> tuple[Holder, ...]:
        count, place = seen[generation], looks.index(generation)
        before = seen[looks[place - 1]] if place else 441
        outer = Holder("app.service.history[*]", "app.Ticket", count, before, place + 1,
                       retained_bytes=569 * count)  # fmt: skip
        inner = Holder("app.service.history[*].values[*]", "float", 50 * count,
                       retained_bytes=416 * count)  # fmt: skip
        return outer, inner

    snapshots = (
        replace(s, holders=both(s.generation)) if s.generation in seen and s.holders == () else s
        for s in told.snapshots
    )
    (finding,) = diagnose(replace(told, snapshots=tuple(snapshots))).findings
    assert (finding.verdict, finding.held_by) == ("leak", "app.service.history[*]")
