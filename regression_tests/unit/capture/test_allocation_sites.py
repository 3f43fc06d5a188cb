"""Where survivors were made: found for objects and for bytes, and nothing is left behind."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import tracemalloc
import weakref
from pathlib import Path
from types import SimpleNamespace

import pytest

from leakguard.capture.allocation_sites import (
    BytesTrace,
    ObjectTrace,
    Suspect,
    bytes_trace,
    fitting,
)
from leakguard.capture.allocation_sites.byte_sites import in_use
from leakguard.capture.probe import Unavailable
from leakguard.capture.stack import Frame, Lines, described, origin, place


class Environment:
    def __init__(self):
        self.data = bytearray(1_000)


class Slotted:
    __slots__ = ("__weakref__", "value")


def new_environment():
    return Environment()


def evaluate(kept, count):
    for _ in range(count):
        kept.append(new_environment())


HERE = f"{Path(__file__).name}"
NAME = f"{__name__}.Environment"


@pytest.fixture(autouse=True)
def nothing_is_traced():
    if tracemalloc.is_tracing():
        pytest.skip("the process is traced already")
    yield
    assert not tracemalloc.is_tracing()


def traced(work, *names):
    suspects = [Suspect(name) for name in names]
    trace = ObjectTrace(suspects)
    work()
    samples = trace.survivors(suspects)
    holders = ["kept"] * len(samples)
    samples.clear()
    return trace.sites(holders)


def test_survivors_are_traced_to_the_line_that_asked_their_factory():
    kept = []
    (site,) = traced(lambda: evaluate(kept, 7), NAME)
    line = evaluate.__code__.co_firstlineno + 2
    assert site.place.endswith(f"{HERE}:{line}")
    assert (site.function, site.count, site.type) == ("evaluate", 7, NAME)
    assert site.held_by == "kept"
    assert site.stack[0].endswith(" in new_environment")
    assert site.stack[1].endswith(f":{line} in evaluate")


def test_objects_made_before_or_gone_after_are_no_survivors():
    kept = [new_environment()]
    assert traced(lambda: evaluate([], 5), NAME) == []
    assert len(kept) == 1


@pytest.mark.parametrize("make", [Environment, Slotted, type("Sub", (list,), {})])
def test_every_layout_of_an_instance_is_traced(make):
    name = f"{make.__module__}.{make.__qualname__}"
    kept = []
    sites = traced(lambda: kept.extend(make() for _ in range(4)), name)
    assert [site.count for site in sites] == [4]


def test_arrays_that_the_collector_does_not_track_are_traced():
    numpy = pytest.importorskip("numpy")
    kept = []
    sites = traced(lambda: kept.extend(numpy.ones(3) for _ in range(6)), "numpy.ndarray")
    assert sum(site.count for site in sites if HERE in site.place) == 6


def thirty_lists():
    return [[letter for letter in "abc"] for _ in range(30)]  # noqa: C416


def thirty_dicts():
    return [{"step": step} for step in range(30)]


def thirty_pairs():
    return [(step, "kept") for step in range(30)]


@pytest.mark.parametrize(
    ("name", "make"), [("list", thirty_lists), ("dict", thirty_dicts), ("tuple", thirty_pairs)]
)
def test_objects_that_the_interpreter_had_in_reserve_are_traced(name, make):
    make()  # what it frees is handed out again without an allocation
    kept = []
    sites = traced(lambda: kept.append(make()), name)
    line = make.__code__.co_firstlineno + 1
    (made,) = [site for site in sites if site.place.endswith(f"{HERE}:{line}") and site.count > 1]
    assert 30 <= made.count <= 31  # the list of them is made on the same line


@pytest.mark.parametrize("spare", [0, 8, 24])
def test_pairs_that_the_trace_itself_put_on_top_of_the_reserve_hide_none_below_them(spare):
    empty_the_reserve = [(index, "pair") for index in range(3_000)]
    [(index, "pair") for index in range(spare)]
    kept = []
    sites = traced(lambda: kept.append(thirty_pairs()), "tuple")
    line = thirty_pairs.__code__.co_firstlineno + 1
    (made,) = [site for site in sites if site.place.endswith(f"{HERE}:{line}") and site.count > 1]
    assert made.count == 30
    assert len(empty_the_reserve) == 3_000


def test_objects_of_the_guard_itself_are_no_survivors():
    assert traced(lambda: None, "list") == []


def test_no_object_is_kept_by_the_trace():
    kept = []
    traced(lambda: evaluate(kept, 3), NAME)
    gone = weakref.ref(kept[0])
    kept.clear()
    gc.collect()
    assert gone() is None


def test_program_that_traces_itself_is_left_alone():
    tracemalloc.start(7)
    try:
        kept = []
        (site,) = traced(lambda: evaluate(kept, 2), NAME)
        assert site.count == 2
        assert tracemalloc.is_tracing()
        assert tracemalloc.get_traceback_limit() == 7
        with pytest.raises(Unavailable, match="tracemalloc traces this process"):
            BytesTrace()
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_child_forked_in_a_traced_generation_is_not_traced():
    trace = ObjectTrace()
    try:
        child = os.fork()
        if child == 0:
            os._exit(int(tracemalloc.is_tracing()))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert tracemalloc.is_tracing()
    finally:
        trace.stop()


BYTES = """
import tempfile, os
from leakguard.capture.allocation_sites import BytesTrace, Suspect
before = set(os.listdir(tempfile.gettempdir()))
kept = []
def leak():
    for _ in range(4):
        kept.append(bytes(250_000))
trace = BytesTrace()
leak()
assert trace.survivors([Suspect()]) == []
for site in trace.sites([]):
    print(site.function, site.bytes, site.count, site.tracer)
left = set(os.listdir(tempfile.gettempdir())) - before
print([name for name in left if name.startswith("leakguard-")])
"""


def test_native_bytes_are_traced_and_the_record_is_deleted(tmp_path):
    pytest.importorskip("memray")
    done = subprocess.run(
        [sys.executable, "-c", BYTES], capture_output=True, text=True, check=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    first, *_, left = done.stdout.splitlines()
    function, size, count, tracer = first.split()
    assert (function, count, tracer) == ("leak", "4", "memray")
    assert 1_000_000 <= int(size) < 1_001_000
    assert left == "[]"
    assert list(tmp_path.iterdir()) == []


LOST = """
import ctypes, sys
from leakguard.capture.allocation_sites import BytesTrace, ObjectTrace, Suspect
take = ctypes.pythonapi.Py_IncRef
take.argtypes = [ctypes.py_object]
def lose():
    for number in range(10**12, 10**12 + 3_000):
        take(number)  # one reference too many, as an extension module loses it
suspects = [Suspect(in_pools=True)]
trace = {"memray": BytesTrace, "tracemalloc": ObjectTrace}[sys.argv[1]](suspects)
lose()
trace.survivors(suspects)
for site in trace.sites([]):
    print(site.function, site.bytes, site.count, site.tracer)
"""


@pytest.mark.parametrize("tool", ["memray", "tracemalloc"])
def test_small_objects_that_an_extension_lost_are_traced_to_their_line(tool, tmp_path):
    if tool == "memray":
        pytest.importorskip("memray")
    program = tmp_path / "program.py"
    program.write_text(LOST, encoding="utf-8")
    command = [sys.executable, str(program), tool]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    function, size, count, tracer = done.stdout.splitlines()[0].split()
    assert (function, tracer) == ("lose", tool)
    # An int of 10**12 has 32 bytes, which is what its block has.
    assert 3_000 <= int(count) < 3_020
    assert 96_000 <= int(size) < 97_000


def test_bytes_are_told_as_the_allocators_give_them_out():
    assert in_use(24_000, 3_000, pooled=False) == 3_000 * 32  # malloc(8)
    assert in_use(36 * 10, 10, pooled=True) == 10 * 48
    assert in_use(6_000, 10, pooled=True) == 10 * 608  # too large for a pool


def test_memray_of_the_program_is_left_alone_and_objects_are_traced_beside_it(tmp_path):
    pytest.importorskip("memray")
    program = f"""
import memray
from leakguard.capture.allocation_sites import BytesTrace, ObjectTrace, Suspect
class Env:
    pass
with memray.Tracker({str(tmp_path / "own.bin")!r}):
    try:
        BytesTrace()
    except Exception as error:
        print(type(error).__name__)
    suspects = [Suspect("__main__.Env")]
    trace = ObjectTrace(suspects)
    kept = [Env() for _ in range(1000)]
    held = [None for _ in trace.survivors(suspects)]
    print(sum(site.count for site in trace.sites(held)) > 900)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert done.stdout.split() == ["Unavailable", "True"]
    assert [path.name for path in tmp_path.iterdir()] == ["own.bin"]


def test_program_with_greenlets_keeps_its_trace_function_and_is_told_nothing_by_memray():
    pytest.importorskip("memray")
    program = """
import sys
import types
asked = []
for name in ("greenlet", "greenlet._greenlet"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].settrace = asked.append
from leakguard.capture.allocation_sites import BytesTrace
try:
    BytesTrace().stop()
except Exception as error:
    print(type(error).__name__)
print(len(asked))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout.split(), done.stderr) == (["Unavailable", "0"], "")


def test_objects_are_traced_with_tracemalloc_and_bytes_with_memray():
    assert fitting("auto", [Suspect("app.Env"), Suspect()]) == "tracemalloc"
    assert fitting("auto", [Suspect()]) == "memray"
    assert fitting("memray", [Suspect("app.Env")]) == "memray"


LIBRARY = f"{sys.prefix}/lib/python3/site-packages/numpy/core.py"


@pytest.mark.parametrize(
    ("functions", "asked"),
    [
        ((("lib", "ones"), ("app", "train")), "train"),
        ((("app", "clone"), ("app", "new_agent"), ("app", "evolve")), "evolve"),
        ((("lib", "make"), ("app", "__init__"), ("app", "make_env"), ("app", "run")), "run"),
        ((("app", "create"), ("lib", "wrapper")), "create"),
        ((("lib", "ones"), ("app", "__call__"), ("lib", "wrapper"), ("app", "run")), "__call__"),
        ((("lib", "a"), ("lib", "b")), "a"),
    ],
)
def test_line_that_asked_is_the_innermost_of_the_program_that_is_no_factory(functions, asked):
    files = {"lib": LIBRARY, "app": "/home/app/main.py"}
    stack = [Frame(files[where], 1, name) for where, name in functions]
    assert stack[origin(stack)].function == asked


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        ("return Env()", "run"),
        ("env = Env()\n    return env", "run"),
        ("env = Env()\n    return env, 1", "run"),
        ("kept.append(Env())", "make_env"),
        ("env = Env()\n    kept.append(env)\n    return id(env)", "make_env"),
        ("for _ in range(3):\n        kept.append(Env())\n    return kept", "run"),
        ("env = object()\n    kept[id(env)] = Env()\n    return env", "make_env"),
        ("env = object()\n    env.inner[0], _ = Env(), 1\n    return env", "run"),
    ],
)
def test_function_that_keeps_what_it_makes_is_no_factory_whatever_its_name(body, asked, tmp_path):
    file = tmp_path / "app.py"
    file.write_text(f"kept = []\n\ndef make_env():\n    {body}\n", encoding="utf-8")
    made = 1 + next(i for i, line in enumerate(file.read_text().splitlines()) if "Env()" in line)
    stack = [Frame(str(file), made, "make_env"), Frame(str(file), 99, "run")]
    assert stack[origin(stack)].function == asked


def test_line_that_ran_code_which_the_program_made_says_more_than_that_code(tmp_path):
    file = tmp_path / "rules.py"
    file.write_text("exec(compile(made, 'rule_17.py', 'exec'))\n", encoding="utf-8")
    made = Frame("rule_17.py", 2, "<module>")
    assert origin([made, Frame(str(file), 1, "load")]) == 1
    assert origin([made, Frame("rule_18.py", 1, "load")]) == 0


def test_places_are_told_from_the_folder_of_import(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(tmp_path))
    frame = Frame(str(tmp_path / "package" / "module.py"), 12, "train")
    assert place(frame) == "package/module.py:12"
    assert described([frame]) == ("package/module.py:12 in train",)
    started = [frame, Frame("<string>", 1, None), Frame("<frozen runpy>", 88, None)]
    assert described(started) == described([frame])
    elsewhere = Frame(str(Path(tempfile.gettempdir()) / "a" / "b" / "c.py"), 3, None)
    assert not place(elsewhere).startswith("/")


def test_holders_of_one_line_s_objects_are_all_told():
    first, second = [], []

    def work():
        for n in range(12):
            (first if n < 6 else second).append(new_environment())

    trace = ObjectTrace()
    work()
    samples = trace.survivors([Suspect(NAME)])
    holders = ["first" if address in map(id, first) else "second" for address in samples]
    assert {site.held_by for site in trace.sites(holders)} == {"first", "second"}


def test_line_of_a_comprehension_is_told_once():
    stack = [Frame("/home/app/main.py", line, "train") for line in (3, 3, 7, 3)]
    assert [text.rpartition(":")[2] for text in described(stack)] == [
        "3 in train", "7 in train", "3 in train",
    ]  # fmt: skip


def test_line_of_the_program_is_told_forty_calls_above_the_allocation(tmp_path):
    script = str(tmp_path / "train.py")
    stack = [("forward", LIBRARY, n) for n in range(40)] + [
        ("loss", script, 4),
        ("main", script, 7),
    ]
    record = SimpleNamespace(
        size=1_000, n_allocations=1, stack_trace=lambda max_stacks: stack[:max_stacks]
    )
    site = bytes_trace._site(record, pooled=False)
    assert site.place.endswith("train.py:4")
    assert (len(site.stack), site.stack[-1].rpartition("/")[2]) == (24, "train.py:4 in loss")


def test_shallow_trace_asks_about_what_the_program_s_own_lines_made():
    trace = ObjectTrace(shallow=True)
    trace.stop()
    library = [("app.Env", ((LIBRARY, line),)) for line in range(40)]
    own = ("app.Env", ((LIBRARY, 3), (__file__, 7)))
    trace._counts.update(dict.fromkeys(library, 9) | {own: 1})
    assert trace._largest({"app.Env"}) == [own]
    del trace._counts[own]
    assert len(trace._largest({"app.Env"})) == 20


def test_object_that_an_init_makes_is_led_back_to_that_line_and_its_bytes_to_the_caller():
    files = [("__init__", 7), ("serve", 20)]
    stack = [Frame("/home/app/main.py", line, name) for name, line in files]
    assert stack[origin(stack, constructors=())].function == "__init__"
    assert stack[origin(stack, [Lines("/home/app/main.py", 5, 9)])].function == "serve"
    assert stack[origin(stack)].function == "serve"


def test_constructor_of_what_is_kept_is_led_back_to_its_caller_through_a_helper_s():
    lines = [("__init__", 40), ("__init__", 7), ("__init__", 20), ("train", 30)]
    stack = [Frame("/home/app/main.py", line, name) for name, line in lines]
    kept = [Lines("/home/app/main.py", 5, 9)]
    assert stack[origin(stack, kept)] == stack[2]
    assert stack[origin(stack, [*kept, Lines("/home/app/main.py", 19, 25)])] == stack[3]
