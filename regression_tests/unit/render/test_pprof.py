"""A pprof file: the two kinds of stacks, what they weigh, and what a viewer adds up."""

from __future__ import annotations

import gzip
import math
from dataclasses import replace
from datetime import datetime

import pprof_reader
import profile_story as story
import pytest
import report_stories as stories

from leakguard.render import document


def profile(*reports):
    return pprof_reader.read(document(reports, "pprof"))


def test_samples_sum_up_to_what_the_outermost_holders_retain():
    found = profile(story.report())
    assert found.total("retained_bytes") == 9_000 + 700
    assert found.total("held_objects") == sum(holder.entries for holder in story.HOLDERS)
    assert found.total("born_bytes") == 9_100 + 1_000
    assert found.total("growth_bytes") == 562


def test_viewer_shows_for_each_holder_what_it_retains():
    found = profile(story.report())
    retained = {
        "__main__.best[*] (app.Rollout)": 9_000,
        "__main__.best[*].rewards[*] (float)": 8_500,
        "__main__.log[*] (bytes)": 700,
        "held by": 9_700,
        "made at": 0,
    }
    assert {name: found.above(name, "retained_bytes") for name in retained} == retained


def test_path_of_holders_begins_at_the_root():
    [frames] = [
        [name for name, _, _ in frames]
        for frames, _, labels in profile(story.report()).samples
        if labels.get("type") == "float"
    ]
    assert frames == [
        "held by", "__main__ (dict)", "__main__.best (list)", "__main__.best[*] (app.Rollout)",
        "__main__.best[*].rewards (list)", "__main__.best[*].rewards[*] (float)",
    ]  # fmt: skip


def test_births_have_the_stack_of_the_allocation():
    calls, native = [s for s in profile(story.report()).samples if s[1]["born_bytes"]]
    assert calls[0] == [
        ("made at", "", 0), ("<module>", "train.py", 28), ("evaluate", "train.py", 16),
        ("__init__", "train.py", 8),
    ]  # fmt: skip
    assert calls[2] == {"allocator": "python", "phase": "evaluate", "verdict": "leak",
                        "kind": "instances"}  # fmt: skip
    assert native[0][1:] == [("no line of Python", "", 0)]
    assert native[2] == {"allocator": "native"}


def test_place_without_a_stack_is_a_stack_of_one_call():
    place = replace(story.PLACES[0], stack=())
    [frames] = [f for f, values, _ in profile(story.report(places=(place,))).samples
                if values["born_bytes"]]  # fmt: skip
    assert frames[1:] == [("evaluate", "train.py", 16)]


def test_what_lies_inside_of_a_leaking_holder_has_its_labels():
    told = {labels["type"]: labels.get("verdict")
            for frames, _, labels in profile(story.report()).samples
            if frames[0][0] == "held by"}  # fmt: skip
    assert told == {"app.Rollout": "leak", "float": "leak", "bytes": None, "module": None}


def test_file_says_when_and_what():
    found = profile(story.report())
    assert found.types == [
        ("held_objects", "count"), ("retained_bytes", "bytes"), ("born_objects", "count"),
        ("born_bytes", "bytes"), ("growth_bytes", "bytes"),
    ]  # fmt: skip
    assert found.default == "retained_bytes"
    began = datetime.fromisoformat(stories.INFO.started).timestamp()
    assert (found.time, found.duration) == (int(began) * 10**9, 300_500_000_000)
    assert any("LEAK" in comment for comment in found.comments)


@pytest.mark.parametrize("told", [stories.healthy, stories.short])
def test_run_without_holders_is_a_valid_empty_profile(told):
    found = profile(told())
    assert found.samples == []
    assert len(found.types) == 5


def test_finding_without_a_known_holder_has_the_line_or_its_kind():
    made = replace(story.FINDING, held_by=None, path=())
    kind = replace(made, created_at=None)
    found = profile(story.report((), (), (made, kind)))
    assert [[name for name, _, _ in frames] for frames, _, _ in found.samples] == [
        ["made at", "evaluate"], ["held by", "no holder known (app.Rollout)"],
    ]  # fmt: skip


def test_several_runs_are_told_apart_by_a_label():
    found = profile(story.report(), story.report())
    assert all("run" in labels for _, _, labels in found.samples)
    assert found.total("retained_bytes") == 2 * 9_700
    assert not any("run" in labels for _, _, labels in profile(story.report()).samples)


def test_odd_names_and_numbers_stay_one_valid_file():
    odd = replace(story.HOLDERS[2], path="d['\x1b[31m\ud800é\n漢']", retained_bytes=2**70)
    place = replace(story.PLACES[0], bytes=math.nan, count=math.inf, stack=("a b:99 in <λ>", ""))
    found = profile(story.report((odd,), (place,), ()))
    [(frames, values, _)] = found.samples
    assert frames[1][0] == "d['é 漢'] (bytes)"
    assert values["retained_bytes"] == 2**63 - 1


def test_same_report_is_the_same_file():
    assert document([story.report()], "pprof") == document([story.report()], "pprof")


def test_redaction_reaches_the_frames():
    place = replace(story.PLACES[0], stack=("/home/jane/train.py:3 in f",))
    data = document([story.report(places=(place,))], "pprof", redact=True)
    assert b"jane" not in gzip.decompress(data)


def test_runtime_of_protobuf_reads_the_same():
    pytest.importorskip("google.protobuf")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", syntax="proto3")
    shapes = {
        "ValueType": "type:1 unit:2",
        "Label": "key:1 str:2 num:3 num_unit:4",
        "Sample": "location_id:1* value:2* label:3*Label",
        "Mapping": "id:1 filename:5 has_functions:7 has_filenames:8 has_line_numbers:9",
        "Line": "function_id:1 line:2",
        "Location": "id:1 mapping_id:2 address:3 line:4*Line",
        "Function": "id:1 name:2 system_name:3 filename:4 start_line:5",
        "Profile": "sample_type:1*ValueType sample:2*Sample mapping:3*Mapping location:4*Location "
        "function:5*Function string_table:6*- time_nanos:9 duration_nanos:10 comment:13* "
        "default_sample_type:14",
    }
    for name, fields in shapes.items():
        message = file.message_type.add(name=name)
        for field in fields.split():
            label, _, rest = field.partition(":")
            number, star, kind = rest.partition("*")
            added = message.field.add(name=label, number=int(number), label=3 if star else 1)
            added.type = {"": 3, "-": 9}.get(kind, 11)  # an integer, a text, a message
            if added.type == 11:
                added.type_name = kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    shape = message_factory.GetMessageClass(pool.FindMessageTypeByName("Profile"))
    read = shape.FromString(gzip.decompress(document([story.report()], "pprof")))
    assert sum(sample.value[1] for sample in read.sample) == 9_700
    assert [read.string_table[kind.type] for kind in read.sample_type][1] == "retained_bytes"
    assert {place.mapping_id for place in read.location} == {read.mapping[0].id}
