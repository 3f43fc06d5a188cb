"""What a row of a container lays claim to: each byte of a type belongs to one row."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from leakguard.analysis.birthplace import Birth, Trail
from leakguard.analysis.claims import Claim, strongest
from leakguard.analysis.claims.metrics import is_explained
from leakguard.analysis.claims.types import CLAIMS, Accounted, Room, TypeAsked, claimed
from leakguard.analysis.growth import Growth
from leakguard.analysis.row import LedgerRow
from leakguard.model import Holder
from leakguard.model.residue import Residue


def grown(name: str, rate: float, size: float, *, phase: str | None = "train") -> Growth:
    """Return the growth of a type, in objects and bytes per generation."""
    kind = "instances" if "." in name else "container"
    return Growth("type", name, kind, type=name, rate=rate, bytes_rate=size, phase=phase)


def room(
    element: str, rate: float, size: float, *, born: float = 0.0, phase: str | None = "train"
) -> Room:
    """Return the room of a list that gains entries of a type, and keeps ``size`` bytes more."""
    path = f"app.{element}s[*]"
    holder = Holder(path, element, 100, retained_bytes=int(100 * size))
    container = Growth("container", path, "container", type=element, rate=rate, bytes_rate=size,
                       holder=holder)  # fmt: skip
    lead = grown(element, rate, 100.0, phase=phase)
    return Room(LedgerRow(lead, (), container, phase, size), born)


def taken(growing: Growth, *rooms: Room, beside: tuple[Growth, ...] = ()) -> Accounted | None:
    """Return what accounts for a type, asked among the types ``beside`` it."""
    group = [growing, *beside]
    whole = sum(each.left for each in rooms)
    types = {each.name: each for each in group}
    return claimed(TypeAsked(growing, group, list(rooms), whole, types))


def test_type_with_room_in_a_row_of_its_phase_is_the_rows_and_adds_no_bytes():
    envs = room("app.Env", 4, 50_000)
    found = taken(grown("app.Rules", 9, 40_000), envs)
    assert found == Accounted(envs, 0.0)


def test_row_whose_entries_others_hold_too_has_room_for_what_births_say_was_made_for_it():
    tasks = room("_asyncio.Task", 4, 300, born=50_000)
    assert taken(grown("app.Rules", 9, 40_000), tasks) == Accounted(tasks, 0.0)


def test_type_without_room_is_nobodys():
    envs = room("app.Env", 4, 50_000)
    assert taken(grown("app.Rules", 9, 150_000), envs) is None


def test_row_of_another_phase_has_no_room_for_a_class_of_the_program():
    assert taken(grown("app.Rules", 9, 40_000), room("app.Env", 4, 50_000, phase="eval")) is None


def test_builtin_objects_fit_into_what_all_rows_keep_whatever_their_phase():
    lists = (room("app.Env", 4, 50_000, phase="eval"), room("app.Step", 7, 60_000, phase="log"))
    found = taken(grown("float", 900, 40_000), *lists)
    assert found == Accounted(lists[1], 0.0)


def test_row_with_more_room_has_it():
    small, large = room("app.Env", 4, 50_000), room("app.Step", 7, 60_000)
    found = taken(grown("app.Rules", 9, 10_000), small, large)
    assert found is not None and found.room is large


@pytest.mark.parametrize(("rate", "is_the_rows"), [(4, True), (12, True), (9, False), (24, False)])
def test_as_many_builtin_objects_as_entries_or_a_few_times_as_many_belong_to_them(
    rate, is_the_rows
):
    """What the entries keep is not known: nothing says that the objects are elsewhere."""
    tasks = room("_asyncio.Task", 4, 0)
    assert (taken(grown("coroutine", rate, 150_000), tasks) is not None) is is_the_rows


def test_what_a_row_takes_of_a_type_is_taken_once():
    envs = room("app.Env", 4, 50_000)
    left = envs.left_of(grown("app.Env", 10, 1_000))
    assert (left.rate, left.bytes_rate) == (6, 600)
    assert envs.left == 50_000 - 400


def test_strongest_claim_that_applies_decides_whatever_the_order():
    table = [
        Claim("weak", 1, lambda asked: "weak"),
        Claim("strong", 3, lambda asked: None),
        Claim("middle", 2, lambda asked: "middle"),
    ]
    assert {strongest(order, None) for order in (table, table[::-1])} == {"middle"}


def test_claims_to_types_are_asked_from_room_to_chance():
    ranked = sorted(CLAIMS, key=lambda claim: -claim.strength)
    assert [claim.name for claim in ranked] == [
        "room in phase",
        "room for builtin",
        "named after it",
        "one each",
    ]


def is_told_with(row: LedgerRow, files: float, since: int = 1) -> bool:
    """Return whether a number of open files that grows is told with what a row holds."""
    asked = {"of": lambda _: (), "named_bytes": lambda _: 0.0}
    case = SimpleNamespace(metric=lambda _: None)
    ledger = SimpleNamespace(rows=[row], filling=(), case=case, **asked)
    return is_explained(ledger, Growth("metric", "open_files", "files", rate=files, since=since))


@pytest.mark.parametrize(("files", "is_told"), [(2.0, True), (1.0, True), (3.0, False)])
def test_descriptors_of_shared_memory_and_of_its_mapping_are_told_with_it(files, is_told):
    held = room("SharedMemory", 1.0, 668.0).row
    assert is_told_with(replace(held, beside=(grown("mmap.mmap", 1.0, 96.0),)), files) == is_told


@pytest.mark.parametrize(("since", "is_told"), [(1, True), (9, True), (29, False)])
def test_files_that_grow_since_long_after_the_objects_are_not_theirs(since, is_told):
    left = Residue(rate=1_000.0, since=0, earlier=0, samples=90, steady=True)
    birth = Birth(None, None, Trail(left, since=1, perhaps=1, lasted=90))
    row = replace(room("app.Snapshot", 1.0, 1_000.0).row, birth=birth)
    assert is_told_with(row, 1.0, since) == is_told
