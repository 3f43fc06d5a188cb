"""Several leaks in eight generations, seen by three looks: each is told with its own bytes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard import diagnose
from leakguard.model import Birthplace, Cohort, Holder, Run
from leakguard.testing import RunStory, State

KB = 1_000
ROUNDS, LOOKS = 8, (3, 4, 8)
NOTES, TEXTS, BUFFERS = "app.notes[*]", "app.texts[*]", "app.idle[*]"


def made(line: int, phase: str, sizes: dict[int, float], samples: int = 1) -> Birthplace:
    """Return a line of which blocks of these rounds were sampled."""
    cohorts = tuple(Cohort(at, 1, size, 0.0, samples) for at, size in sizes.items())
    whole = sum(sizes.values())
    count = samples * len(cohorts)
    return Birthplace(phase, False, whole, 0.0, 1.0, count, f"app.py:{line}", f"f{line}", cohorts)


def story(*kept: str, born: dict[str, tuple[Birthplace, ...]] | None = None) -> Run:
    """Tell a run that keeps 600 notes, a text and a buffer per generation, 100 kB each."""
    told = RunStory()

    def state(n: int) -> State:
        texts = 600 * n * (NOTES in kept) + n * (TEXTS in kept)
        size = 100 * KB * n * ((NOTES in kept) + (TEXTS in kept))
        counts = {"str": 200_000 + texts, "bytearray": 20 + n * (BUFFERS in kept)}
        sizes = {"str": 20_000 * KB + size, "bytearray": 50 * KB + 100 * KB * n * (BUFFERS in kept)}
        return State({"rss": 200_000 * KB, "heap_in_use": 50_000 * KB + 100 * KB * n * len(kept)},
                     counts, sizes)  # fmt: skip

    told.baseline(state(0))
    for n in range(1, ROUNDS + 1):
        told.generation(work=state(n))
    element = {NOTES: ("str", 600), TEXTS: ("str", 1), BUFFERS: ("bytearray", 1)}

    def held(path: str, n: int) -> Holder:
        at, (kind, each) = LOOKS.index(n), element[path]
        before = each * LOOKS[at - 1] if at else None
        return Holder(path, kind, each * n, before, at, retained_bytes=100 * KB * n,
                      born=(born or {}).get(path, ()) if n == ROUNDS else ())  # fmt: skip

    def looked(snapshot):
        n = snapshot.generation
        if snapshot.moment != "generation" or n not in LOOKS:
            return snapshot
        return replace(snapshot, holders=tuple(held(path, n) for path in kept))

    run = told.run()
    return replace(run, snapshots=tuple(map(looked, run.snapshots)))


def test_one_holder_of_texts_has_one_finding():
    (finding,) = diagnose(story(NOTES)).findings
    assert finding.held_by == NOTES


def test_builtin_objects_are_not_explained_by_a_container_of_other_things():
    found = {f.held_by: f for f in diagnose(story(NOTES, BUFFERS)).findings}
    assert found.keys() == {NOTES, BUFFERS}
    assert found[BUFFERS].type == "bytearray"


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([made(7, "train", {0: 100_000.0, 3: 200_000.0, 4: 100_000.0})], "app.py:7 in f7"),
        ([made(7, "train", {3: 100_000.0})], None),
        (
            [
                made(7, "train", {1: 100_000.0, 3: 100_000.0}),
                made(9, "serve", {2: 100_000.0, 5: 100_000.0}),
            ],
            None,
        ),
    ],
    ids=["agree", "one", "disagree"],
)
def test_few_samples_tell_line_and_phase_only_if_they_agree(lines, told):
    (finding,) = diagnose(story(BUFFERS, born={BUFFERS: tuple(lines)})).findings
    assert finding.created_at == told
    assert (finding.phase == "train") is (told is not None)


@pytest.mark.parametrize(("entries", "told"), [(40, True), (20, False)])
def test_container_that_the_last_look_alone_saw_holds_what_its_type_gained_in_all(entries, told):
    """Another leak, whose line and holder births show, has most of the bytes."""
    run = RunStory()
    for n in range(41):
        counts = {"str": 200_000 + 600 * n, "bytearray": 20 + n}
        sizes = {"str": 20_000 * KB + 400 * KB * n, "bytearray": 50 * KB + 100 * KB * n}
        memory = {"rss": 200_000 * KB, "heap_in_use": 50_000 * KB + 500 * KB * n}
        state = State(memory, counts, sizes)
        if n:
            run.generation(work=state)
        else:
            run.baseline(state)
    line = made(7, "work", dict.fromkeys(range(40), 400000.0), samples=3)
    holders = (
        Holder(NOTES, "str", 24_000, retained_bytes=16_000 * KB, born=(line,)),
        Holder(BUFFERS, "bytearray", entries, retained_bytes=100 * KB * entries),
    )
    snapshots = run.run().snapshots
    last = max(s.serial for s in snapshots if s.moment == "generation")
    seen = tuple(replace(s, holders=holders) if s.serial == last else s for s in snapshots)
    found = {f.held_by for f in diagnose(replace(run.run(), snapshots=seen)).findings}
    assert NOTES in found
    assert (BUFFERS in found) is told


@pytest.mark.parametrize("inner", ["app.Rollout.rewards[*]", "app.played.rewards[*]"])
def test_container_inside_the_objects_of_a_holder_is_no_finding_of_its_own(inner):
    run = RunStory()
    for n in range(ROUNDS + 1):
        state = State({"rss": 200_000 * KB, "heap_in_use": 50_000 * KB + 600 * KB * n},
                      {"float": 1_000 + 25_000 * n, "app.Rollout": n, "app.Rules": n},
                      {"float": 24 * KB + 600 * KB * n, "app.Rollout": 48 * n,
                       "app.Rules": 112 * n})  # fmt: skip
        if n:
            run.generation(work=state)
        else:
            run.baseline(state)
    line = made(7, "work", dict.fromkeys(range(ROUNDS), 600000.0), samples=3)

    def looked(snapshot):
        n = snapshot.generation
        if snapshot.moment != "generation" or n not in LOOKS:
            return snapshot
        at = LOOKS.index(n)
        before = LOOKS[at - 1] if at else None
        born = (line,) if n == ROUNDS else ()
        kept = Holder("app.kept[*]", "app.Rollout", n, before, at, None, None, 600 * KB * n,
                      born=born)  # fmt: skip
        inside = Holder(inner, "float", 25_000 * n, retained_bytes=600 * KB * n)
        return replace(snapshot, holders=(kept, inside))

    told = run.run()
    report = diagnose(replace(told, snapshots=tuple(map(looked, told.snapshots))))
    assert [finding.held_by for finding in report.findings] == ["app.kept[*]"]


def test_texts_inside_the_entries_of_a_container_are_told_beside_a_class_of_the_same_phase():
    looks = (3, 4, 5, 6, 7, 8)
    run = RunStory()
    for n in range(ROUNDS + 1):
        state = State({"rss": 200_000 * KB, "heap_in_use": 50_000 * KB + 200 * KB * n},
                      {"str": 1_000 + 600 * n, "app.Trial": 20 * n},
                      {"str": 100 * KB + 100 * KB * n, "app.Trial": 100 * KB * n})  # fmt: skip
        if n:
            run.generation(work=state)
        else:
            run.baseline(state)

    def looked(snapshot):
        n = snapshot.generation
        if snapshot.moment != "generation" or n not in looks:
            return snapshot
        at = looks.index(n)

        def grown(path: str, element: str, each: int, streak: int) -> Holder:
            before = each * looks[at - 1] if at and streak else None
            return Holder(path, element, each * n, before, streak, retained_bytes=100 * KB * n)

        held = (
            grown("app.trials[*]", "app.Trial", 20, at),
            grown("app.shelves[*][*]", "list", 1, at),
            grown("app.shelves[*][*][*]", "str", 600, 0),
        )
        return replace(snapshot, holders=held)

    told = run.run()
    report = diagnose(replace(told, snapshots=tuple(map(looked, told.snapshots))))
    found = {finding.held_by: finding.bytes_per_generation for finding in report.findings}
    assert found.keys() == {"app.trials[*]", "app.shelves[*][*]"}
    assert sum(size or 0.0 for size in found.values()) == pytest.approx(200 * KB, rel=0.1)
