"""What births say of a holder and of memory without one: line, phase, start, and that it grows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard import diagnose
from leakguard.analysis.birthplace import RunBirths
from leakguard.analysis.case import Case
from leakguard.analysis.sources import containers
from leakguard.model import Birthplace, Births, Census, Cohort, Holder, Run, TypeCount
from leakguard.model.snapshot import LOOP_ENDED
from leakguard.testing import RunStory, State

MB = 1_000_000
LOOP = "train.py:99 in main"
ROUNDS = 16


def birthplace(line, sizes, *, phase="work", samples=3):
    """Return a line whose rounds left these bytes."""
    cohorts = tuple(
        Cohort(round_, 1, size, 0.0, samples) for round_, size in enumerate(sizes) if size
    )
    whole = sum(cohort.bytes for cohort in cohorts)
    place, function = f"train.py:{line}", f"f{line}"
    return Birthplace(
        phase, False, whole, 0.0, 1.0, samples * len(cohorts), place, function, cohorts
    )


def run(*holders, births=None, gains=MB, threads=0) -> Run:
    """Tell 16 generations of which the last alone was looked at; memory gains a megabyte each."""
    story = RunStory()
    story.baseline(State({"rss": 100 * MB, "heap_in_use": 50 * MB, "threads": 4}))
    for n in range(1, ROUNDS + 1):
        memory = {"rss": 100 * MB + n * gains, "heap_in_use": 50 * MB + n * gains}
        story.generation(work=State({**memory, "threads": 4 + n * threads}))
    told = story.run()
    last = max(s.serial for s in told.snapshots if s.moment == "generation")
    return replace(
        told,
        snapshots=tuple(
            replace(s, holders=holders, births=births) if s.serial == last else s
            for s in told.snapshots
        ),
    )


def holder(path, *born, each=MB):
    return Holder(path, "app.Frame", ROUNDS, retained_bytes=ROUNDS * each, born=born)


def test_entries_that_two_depths_of_a_container_share_are_one_leak_of_the_larger_part():
    middle = range(6, 11)
    outer = birthplace(7, [MB if n in middle else 0 for n in range(ROUNDS)])
    inner = birthplace(7, [0 if n in middle else MB for n in range(ROUNDS)])
    shelves = holder("app.shelves[*]", outer), holder("app.shelves[*][*]", inner)
    report = diagnose(run(*shelves))
    assert [finding.held_by for finding in report.findings] == ["app.shelves[*][*]"]


def test_holder_that_one_look_saw_is_a_leak_where_each_round_left_as_much():
    report = diagnose(run(holder("app.kept[*]", birthplace(7, [MB] * ROUNDS))))

    (finding,) = report.findings
    assert (report.verdict, finding.held_by) == ("leak", "app.kept[*]")
    assert (finding.phase, finding.started_at) == ("work", 1)
    assert finding.created_at == "train.py:7 in f7"
    assert finding.bytes_per_generation == MB


def test_rate_of_a_holder_that_two_looks_saw_is_what_it_gained_between_them():
    kept = holder("app.kept[*]", birthplace(7, [MB] * ROUNDS))

    def seen(snapshot):
        if snapshot.moment != "generation" or snapshot.generation not in (4, ROUNDS):
            return snapshot
        entries = snapshot.generation + 2  # two entries were there before the loop
        at = replace(kept, entries=entries, retained_bytes=entries * MB)
        return replace(snapshot, holders=(at,))

    told = run(kept)
    (finding,) = diagnose(replace(told, snapshots=tuple(map(seen, told.snapshots)))).findings
    assert finding.count_per_generation == 1
    assert finding.bytes_per_generation == MB


@pytest.mark.parametrize(("before", "is_told"), [(0.1, True), (0.9, False)])
def test_births_of_each_round_are_no_growth_where_looks_measured_that_little_was_gained(
    before, is_told
):
    kept = holder("app.cells[*]", birthplace(7, [MB] * ROUNDS))

    def looked(snapshot):
        if (snapshot.moment, snapshot.generation) != ("generation", 8):
            return snapshot
        size = int(before * (kept.retained_bytes or 0))
        return replace(snapshot, holders=(replace(kept, entries=ROUNDS - 1, retained_bytes=size),))

    told = run(kept)
    report = diagnose(replace(told, snapshots=tuple(map(looked, told.snapshots))))

    assert ("app.cells[*]" in {finding.held_by for finding in report.findings}) == is_told


def test_container_whose_entries_keep_what_others_hold_too_is_told_by_its_entries():
    kept = replace(holder("app.threads[*]", birthplace(7, [MB] * ROUNDS)), retained_bytes=1_600)

    def growing(entries):
        def looked(snapshot):
            if (snapshot.moment, snapshot.generation) != ("generation", 8):
                return snapshot
            return replace(snapshot, holders=(replace(kept, entries=entries, retained_bytes=800),))

        told = run(kept)
        return containers(Case(replace(told, snapshots=tuple(map(looked, told.snapshots)))))

    (found,) = growing(ROUNDS // 2)
    assert (found.name, found.proven) == ("app.threads[*]", True)
    assert growing(ROUNDS) == []


def test_look_that_ends_the_loop_within_a_generation_is_not_compared_with_itself():
    told = run(holder("app.kept[*]", birthplace(7, [MB] * ROUNDS, samples=20)))
    *before, last = told.snapshots
    counted = Census({"app.Frame": TypeCount(ROUNDS, ROUNDS * MB)})
    label = f"{LOOP_ENDED} within generation {ROUNDS}"
    within = replace(last, moment="end", label=label, census=counted)
    report = diagnose(replace(told, snapshots=(*before[:-1], within)))

    assert [finding.held_by for finding in report.findings] == ["app.kept[*]"]


def test_record_of_each_generation_is_no_leak_for_the_numbers_in_it():
    kept = replace(holder("app.history[*]", birthplace(7, [1_600] * ROUNDS), each=1_600))

    def counting(snapshot):
        floats = 12_000 + 17 * (snapshot.generation or 0)
        return replace(snapshot, census=Census({"float": TypeCount(floats, floats * 90)}))

    told = run(replace(kept, element="dict"), gains=1_600)
    report = diagnose(replace(told, snapshots=tuple(map(counting, told.snapshots))))

    assert (report.verdict, report.findings) == ("stable", ())


def test_memory_that_the_line_of_a_holder_made_is_of_that_holder():
    kept = birthplace(7, [MB] * ROUNDS)
    counted = Census({"app.Frame": TypeCount(10, 100)})

    def found(made):
        births = Births(32 * MB, 0.0, 1.0, 4_096.0, (birthplace(7, [made] * ROUNDS),), samples=96)
        told = run(holder("app.kept[*]", kept), births=births, gains=2 * MB)
        counting = tuple(replace(s, census=counted) for s in told.snapshots)
        findings = diagnose(replace(told, snapshots=counting)).findings
        return [(f.held_by, round(f.bytes_per_generation or 0)) for f in findings]

    assert found(2 * MB) == [("app.kept[*]", 2 * MB)]
    assert found(MB) == [("app.kept[*]", MB), (None, MB)]


@pytest.mark.parametrize(
    ("earlier", "elsewhere", "told"),
    [
        (0, [2, 8, 16], ("app.seen[*]", "train.py:7 in f7")),
        (16, [2, 8, 16], (None, "train.py:7 in f7")),
        (0, [16, 0, 16], ("app.seen[*]", None)),
    ],
    ids=["grows", "as large all the time", "not at each look"],
)
def test_buffer_that_larger_ones_replace_has_its_holder_and_the_line_whose_total_rises(
    earlier, elsewhere, told
):
    sizes = dict(zip((2, 8, ROUNDS), elsewhere, strict=True))

    def looked(snapshot):
        at = snapshot.generation or 0
        tensors = (20 + at) * MB
        counted = Census({"torch.Tensor": TypeCount(9, tensors)}, bytes=tensors)
        if snapshot.moment != "generation" or at not in sizes:
            return replace(snapshot, census=counted)
        young = birthplace(7, [0] * (at - 1) + [sizes[at] * MB])
        large = earlier if at < ROUNDS else ROUNDS
        kept = Holder("app.seen[*]", "torch.Tensor", 1, bytes=large * MB)
        births = Births(40 * MB, 0.0, 1.0, 4_096.0, (young,), samples=3)
        return replace(snapshot, holders=(kept,), births=births, census=counted)

    run_ = run()
    (finding,) = diagnose(replace(run_, snapshots=tuple(map(looked, run_.snapshots)))).findings

    assert (finding.verdict, finding.type) == ("leak", "torch.Tensor")
    assert (finding.held_by, finding.created_at) == told


@pytest.mark.parametrize(
    ("element", "traits", "told"),
    [
        ("lib.Table", ("extension",), {"app.kept[*]": 1_010_000}),
        ("app.Session", (), {"app.kept[*]": 10_000, None: MB}),
    ],
    ids=["of an extension, which hides it", "a handle by its name"],
)
def test_memory_that_another_line_made_is_of_objects_that_hide_it_and_of_no_handle(
    element, traits, told
):
    mine, other = (birthplace(line, [size] * ROUNDS) for line, size in ((7, 10_000), (9, MB)))
    kept = replace(holder("app.kept[*]", mine, each=10_000), element=element, traits=traits)
    births = Births(17 * MB, 0.0, 1.0, 4_096.0, (mine, other), samples=96)
    counted = Census({element: TypeCount(16, 100)}, bytes=100)
    run_ = run(kept, births=births, gains=1_010_000)
    counting = tuple(replace(s, census=counted) for s in run_.snapshots)
    findings = diagnose(replace(run_, snapshots=counting)).findings

    assert {f.held_by: round(f.bytes_per_generation or 0) for f in findings} == told


def test_threads_are_no_rest_of_a_line_that_left_what_is_told_of_it():
    kept = birthplace(7, [MB] * ROUNDS)
    births = Births(16 * MB, 0.0, 1.0, 4_096.0, (kept,), samples=48)
    report = diagnose(run(holder("app.kept[*]", kept), births=births, threads=3))

    assert {finding.kind for finding in report.findings} == {"container", "threads"}


def test_window_that_moves_with_the_loop_is_no_growing_holder():
    report = diagnose(run(holder("app.recent[*]", birthplace(7, [0] * 12 + [MB] * 4)), gains=0))

    assert report.verdict == "stable"


def test_bounded_holder_is_not_blamed_for_what_each_round_left():
    bounded = replace(holder("app.replay[*]", birthplace(7, [MB] * ROUNDS)), capacity=10_000)

    assert diagnose(run(bounded)).findings == ()


def test_bound_of_a_holder_also_held_when_a_look_did_not_name_it():
    bounded = replace(
        holder("app.replay[*]", birthplace(7, [MB] * ROUNDS)), capacity=10_000, before=4, streak=1
    )
    other = Holder("app.table[*]", "int", 10, retained_bytes=320)

    def looked(snapshot):
        at = (snapshot.moment, snapshot.generation) == ("generation", 4)
        return replace(snapshot, holders=(other,)) if at else snapshot

    told = run(bounded)
    report = diagnose(replace(told, snapshots=tuple(map(looked, told.snapshots))))

    assert report.findings == ()
    assert "app.replay[*]" in {cleared.metric for cleared in report.cleared}


def test_several_holders_are_each_a_finding_with_a_line_and_a_phase_of_its_own():
    report = diagnose(
        run(
            holder("app.kept[*]", birthplace(7, [MB] * ROUNDS)),
            holder("app.seen[*]", birthplace(9, [MB / 2] * ROUNDS, phase="serve"), each=MB / 2),
            gains=MB + MB // 2,
        )
    )

    told = {(f.held_by, f.phase, f.created_at) for f in report.findings}
    assert told == {
        ("app.kept[*]", "work", "train.py:7 in f7"),
        ("app.seen[*]", "serve", "train.py:9 in f9"),
    }


def test_similar_containers_are_one_finding_with_what_all_of_them_gain():
    lists = (
        holder(f"app.tape['{key}'][*]", birthplace(7, [each] * ROUNDS), each=each)
        for key, each in (("A", MB), ("B", 2 * MB), ("C", 3 * MB))
    )
    (finding,) = diagnose(run(*lists, gains=6 * MB)).findings

    assert finding.held_by == "app.tape['C'][*]"
    assert (finding.count_per_generation, finding.bytes_per_generation) == (3, 6 * MB)
    assert "; so do 2 like it" in finding.reason


def test_line_that_made_the_most_is_named():
    few, most = birthplace(3, [MB / 10] * ROUNDS), birthplace(7, [MB] * ROUNDS)

    (finding,) = diagnose(run(holder("app.kept[*]", few, most))).findings

    assert finding.created_at == "train.py:7 in f7"


def test_memory_without_a_holder_has_the_line_that_leaves_as_much():
    other = birthplace(3, [MB / 10] * ROUNDS)
    births = Births(0.0, 0.0, 1.0, 2048.0, (other, birthplace(7, [MB] * ROUNDS, phase="decode")))

    (finding,) = diagnose(run(births=births)).findings

    assert (finding.held_by, finding.phase) == (None, "decode")
    assert finding.created_at == "train.py:7 in f7"


@pytest.mark.parametrize("is_held", [False, True])
def test_small_rest_is_told_where_a_line_left_it_in_none_of_the_holders(is_held):
    of_holder = birthplace(7, [7 * MB] * ROUNDS)
    other = birthplace(9, [3 * MB] * ROUNDS, phase="trial")
    births = Births(160 * MB, 0.0, 1.0, 2048.0, (of_holder, other))
    born = (of_holder, other) if is_held else (of_holder,)
    told = run(holder("app.kept[*]", *born, each=7 * MB), births=births, gains=10 * MB)
    counted = tuple(replace(s, census=Census({}, bytes=0)) for s in told.snapshots)

    first, *others = diagnose(replace(told, snapshots=counted)).findings

    assert (first.held_by, first.created_at) == ("app.kept[*]", "train.py:7 in f7")
    found = [(f.verdict, f.phase, f.created_at) for f in others]
    assert found == ([] if is_held else [("suspect", "trial", "train.py:9 in f9")])


def test_report_says_that_too_little_was_sampled_where_no_line_is_known():
    births = Births(0.0, 0.0, 1.0, 2048.0)

    (finding,) = diagnose(run(births=births)).findings

    assert finding.created_at is None
    assert "one sample for every 2.0 kB allocated" in finding.created_at_unknown


def test_births_of_what_lies_in_the_entries_are_those_of_the_container():
    deeper = replace(holder("app.shelves[*][*]"), element="str")
    outer = holder("app.shelves[*]", birthplace(7, [MB] * ROUNDS, phase="load"))

    (finding,) = diagnose(run(outer, deeper)).findings

    assert (finding.phase, finding.created_at) == ("load", "train.py:7 in f7")


@pytest.mark.parametrize(("share", "told"), [(0.95, "train.py:9 in f9"), (0.6, "train.py:7 in f7")])
def test_line_of_small_entries_gives_way_to_a_line_that_made_nearly_all_bytes(share, told):
    entries = replace(birthplace(7, [(1 - share) * MB] * ROUNDS), entries=3)
    contents = birthplace(9, [share * MB] * ROUNDS)

    (finding,) = diagnose(run(holder("app.kept[*]", entries, contents))).findings

    assert finding.created_at == told


def test_line_of_one_sampled_entry_comes_before_that_of_most_of_its_contents():
    contents = [birthplace(line, [0.4 * MB] * ROUNDS) for line in (9, 10)]
    once = replace(birthplace(7, [0.1 * MB]), samples=1)

    (of_entry,) = diagnose(run(holder("app.kept[*]", replace(once, entries=1), *contents))).findings
    (of_other,) = diagnose(run(holder("app.kept[*]", once, *contents))).findings

    assert of_entry.created_at == "train.py:7 in f7"
    assert of_other.created_at == "train.py:9 in f9"


def test_one_sample_that_stands_for_much_does_not_hide_a_line_whose_bytes_are_sure():
    entry = replace(birthplace(7, [0.01 * MB] * ROUNDS), entries=3)
    once = replace(birthplace(9, [8 * MB]), samples=1)

    def line(error):
        chance = replace(once, cohorts=(replace(once.cohorts[0], error=error),))
        held = holder("app.kept[*]", birthplace(3, [MB] * ROUNDS), entry, chance)
        return diagnose(run(held)).findings[0].created_at

    assert line(8 * MB) == "train.py:3 in f3"
    assert line(0.0) == "train.py:7 in f7"


def test_call_around_the_loop_is_no_line_of_what_two_lines_of_its_body_made():
    def called(line, size):
        return replace(
            birthplace(line, [size] * ROUNDS), stack=(f"train.py:{line} in f{line}", LOOP)
        )

    parts, other = (called(7, MB), called(9, 0.6 * MB)), called(12, 1_000)
    kept = holder("app.kept[*]", *parts, each=1.6 * MB)

    def line(*places):
        births = Births(32 * MB, 0.0, 1.0, 4_096.0, places, samples=96)
        (finding,) = diagnose(run(kept, births=births, gains=1.6 * MB)).findings
        return finding.created_at

    assert line(*parts, other) == "train.py:7 in f7"
    elsewhere = birthplace(12, [1_000] * ROUNDS)
    assert line(*parts, elsewhere) == LOOP


def test_entries_of_another_container_are_not_what_tuples_are_made_of():
    def counting(snapshot):
        at = snapshot.generation or 0
        types = {"ctypes.c_char_Array_9": TypeCount(at, at * MB), "tuple": TypeCount(at, at * 64)}
        return replace(snapshot, census=Census(types, bytes=at * (MB + 64)))

    tuples = replace(holder("app.seen[*]", birthplace(7, [MB] * ROUNDS)), element="tuple")
    buffers = holder("app.clipboard[*]", birthplace(9, [0.9 * MB] * ROUNDS), each=int(0.9 * MB))
    told = run(tuples, replace(buffers, element="ctypes.c_char_Array_9"), gains=2 * MB)
    findings = diagnose(replace(told, snapshots=tuple(map(counting, told.snapshots)))).findings

    types = {finding.held_by: finding.type for finding in findings}
    assert types == {"app.seen[*]": "tuple", "app.clipboard[*]": "ctypes.c_char_Array_9"}


def test_call_of_a_library_is_no_line_though_most_was_made_in_it():
    inside = "torch/nn/linear.py:134 in forward"

    def called(line, size):
        made = birthplace(line, [size] * ROUNDS)
        return replace(made, stack=(inside, f"train.py:{line} in f{line}"))

    kept = holder("app.kept[*]", called(7, MB), called(9, 0.6 * MB), each=1.6 * MB)
    other = birthplace(12, [1_000] * ROUNDS)
    births = Births(32 * MB, 0.0, 1.0, 4_096.0, (called(7, MB), other), samples=96)
    (finding,) = diagnose(run(kept, births=births, gains=1.6 * MB)).findings

    assert finding.created_at == "train.py:7 in f7"


def test_objects_that_come_with_those_of_a_container_are_no_other_leak():
    kept = holder("app.plans[*]", birthplace(7, [MB] * ROUNDS))

    def counting(snapshot):
        at = snapshot.generation or 0
        texts = int(0.9 * MB * at)
        types = {"app.Frame": TypeCount(at, at * 100), "app.Query": TypeCount(at, texts)}
        return replace(snapshot, census=Census(types, bytes=texts + at * 100))

    told = run(kept, gains=3 * MB)
    findings = diagnose(replace(told, snapshots=tuple(map(counting, told.snapshots)))).findings

    assert [f.type for f in findings if f.kind == "instances"] == ["app.Frame"]


def test_call_inside_of_which_several_lines_made_what_an_entry_keeps_is_its_line():
    calls = ("train.py:30 in load", "train.py:40 in main")
    contents = [
        replace(
            birthplace(line, [0.5 * MB] * ROUNDS), stack=(f"train.py:{line} in f{line}", *calls)
        )
        for line in (9, 10)
    ]

    (finding,) = diagnose(run(holder("app.kept[*]", *contents))).findings

    assert finding.created_at == "train.py:30 in load"
    assert finding.created_stack == calls


@pytest.mark.parametrize(
    ("function", "line"),
    [("arrive", "train.py:10 in arrive"), ("__init__", "train.py:30 in run_until")],
)
def test_of_several_lines_of_one_function_the_one_that_made_most_is_the_line(function, line):
    """An event loop calls what makes the entries; of an object, the call is the line."""
    contents = [
        replace(
            birthplace(at, [size * MB] * ROUNDS), function=function,
            stack=(f"train.py:{at} in {function}", "train.py:30 in run_until"),
        )
        for at, size in ((9, 0.5), (10, 0.6), (11, 0.4))
    ]  # fmt: skip

    (finding,) = diagnose(run(holder("app.kept[*]", *contents))).findings

    assert finding.created_at == line


@pytest.mark.parametrize(("bound", "verdict"), [(ROUNDS, "leak"), (3 * ROUNDS, "stable")])
def test_bound_that_is_reached_while_each_round_left_as_much_is_that_of_many_containers(
    bound, verdict
):
    queues = replace(holder("app.Loader.queue[*]", birthplace(7, [MB] * ROUNDS)), capacity=bound)

    report = diagnose(run(queues))

    assert report.verdict == verdict
    assert [f.held_by for f in report.findings] == ["app.Loader.queue[*]"] * (verdict == "leak")


@pytest.mark.parametrize(("each", "held_by"), [(MB // 2, "app.kept[*]"), (MB // 10, None)])
def test_container_that_two_looks_saw_grows_as_memory_does_if_it_gains_a_large_part_of_that(
    each, held_by
):
    kept = holder("app.kept[*]")

    def seen(snapshot):
        if snapshot.moment != "generation" or snapshot.generation not in (2, 4, 10, ROUNDS):
            return snapshot
        entries = 40 + snapshot.generation
        at = replace(kept, entries=entries, retained_bytes=entries * each)
        counted = Census({"app.Frame": TypeCount(4 * entries, 400 * entries)})
        holders = (at,) if snapshot.generation in (4, ROUNDS) else ()
        return replace(snapshot, holders=holders, census=counted)

    told = run(kept)
    report = diagnose(replace(told, snapshots=tuple(map(seen, told.snapshots))))

    assert report.findings[0].held_by == held_by


def test_few_births_do_not_put_off_what_counts_saw_earlier():
    few = birthplace(7, [0] * 12 + [MB] * 2, samples=3)
    counted = holder("app.kept[*]", few)

    def with_counts(snapshot):
        if snapshot.moment != "generation":
            return snapshot
        count = 10 + snapshot.generation
        return replace(snapshot, census=Census({"app.Frame": TypeCount(count, count * 100)}))

    told = run(counted)
    report = diagnose(replace(told, snapshots=tuple(map(with_counts, told.snapshots))))

    assert report.findings[0].started_at == 2


def test_few_births_of_one_line_agree_though_they_are_of_two_kinds_of_memory():
    python = birthplace(7, [0] * 9 + [MB], samples=3)
    c = replace(birthplace(7, [0] * 4 + [MB], samples=1), native=True)
    birth = RunBirths(run(holder("app.kept[*]", python, c))).of_holder("app.kept[*]")
    assert birth is not None and birth.place is not None
    assert (birth.place.place, birth.phase) == ("train.py:7", "work")


@pytest.mark.parametrize(
    ("round_", "size", "told"),
    [(0, 2 * MB, True), (-1, 2 * MB, False), (0, 100_000, False)],
    ids=["made in the loop", "made before", "keeps a fraction"],
)
def test_rest_of_memory_is_of_the_holder_that_keeps_about_as_much_of_the_loop(round_, size, told):
    """Too few of its blocks were sampled to show that each round left as much."""
    few = tuple(Cohort(at if not round_ else -1, 1, 4.0 * MB, 4.0 * MB, 1) for at in (5, 9, 13))
    line = replace(birthplace(9, [MB]), cohorts=few, samples=3)
    hooks = holder("app.model._forward_hooks[*]", line, each=size)
    frames = holder("app.kept[*]", birthplace(7, [4 * MB] * ROUNDS), each=4 * MB)
    counted = Census({"app.Frame": TypeCount(16, 100)}, bytes=100)
    run_ = run(frames, hooks, gains=6 * MB)
    run_ = replace(run_, snapshots=tuple(replace(s, census=counted) for s in run_.snapshots))

    report = diagnose(run_)
    (rest,) = (f for f in report.findings if f.held_by != "app.kept[*]")
    assert (rest.verdict == "leak", rest.held_by == hooks.path) == (told, told)
    assert (rest.created_at == "train.py:9 in f9") is told


@pytest.mark.parametrize(("containers", "told"), [(1, []), (4, ["app.last[*]"])])
def test_one_full_deque_is_a_window_however_long_and_many_full_ones_are_more_and_more(
    containers, told
):
    """It has the last ten of sixteen generations, each as much as the others."""
    window = holder("app.last[*]", birthplace(7, [0] * 6 + [MB] * 10))
    full = replace(window, entries=10, capacity=10, containers=containers)
    report = diagnose(run(full, gains=10_000))
    assert [f.held_by for f in report.findings if f.held_by] == told


@pytest.mark.parametrize(("element", "kept"), [("app.Frame", 2 * MB), ("str", MB)])
def test_containers_of_several_objects_of_one_class_are_told_as_one(element, kept):
    """Four books of orders, each with its own list: their paths have one name."""
    one = holder("app.Book.asks[*]", birthplace(7, [MB] * ROUNDS))
    other = replace(one, element=element, born=(birthplace(7, [MB] * ROUNDS),))
    report = diagnose(run(one, other, gains=2 * MB))

    finding = next(f for f in report.findings if f.held_by == "app.Book.asks[*]")
    assert finding.bytes_per_generation == pytest.approx(kept, rel=0.1)
    assert finding.created_at == "train.py:7 in f7"
