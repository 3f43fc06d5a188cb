"""What is written into the queue of another interpreter, step by step."""

from __future__ import annotations

import contextlib
import copy

import pytest

from leakguard.errors import UsageError
from leakguard.launch.attach import pending_call as module
from leakguard.launch.attach.foreign_memory import ForeignMemory
from leakguard.launch.attach.pending_call import PendingCall, Symbols
from leakguard.launch.attach.queue_layout import LAYOUTS

RUNTIME, INTERPRETER, LOCK, THREADS = 0x10000, 0x20000, 0x30000, (0x40000, 0x48000)
RUN, TEXT, BEGAN = 0x7777, 0x50000, 12.0


class Killed(BaseException):
    """Whoever writes was killed."""


class FakeMemory(ForeignMemory):
    """Cells of bytes; it counts what is written, and ends the writer when told to."""

    def __init__(self):
        self.cells = {}
        self.writes_left = 1_000

    def __exit__(self, *error):
        pass

    def read(self, address, size):
        return bytes(self.cells.get(address + at, 0) for at in range(size))

    def write(self, address, data):
        if not self.writes_left:
            raise Killed
        self.writes_left -= 1
        self.cells.update({address + at: byte for at, byte in enumerate(data)})


def at_rest(layout):
    """Return the memory of an interpreter whose queue is empty."""
    memory = FakeMemory()
    memory.write_word(RUNTIME + layout.main, INTERPRETER)
    if not layout.lock_is_byte:
        memory.write_word(INTERPRETER + layout.queue + layout.lock, LOCK)
        memory.write_int32(LOCK, 1)
    if layout.threads is not None:
        memory.write_word(INTERPRETER + layout.threads, THREADS[0])
        memory.write_word(THREADS[0] + layout.next_thread, THREADS[1])
    return memory


def calls_that_wait(memory, layout):
    """Return (function, argument) of each call that an interpreter would make."""
    queue = INTERPRETER + layout.queue
    first, last = (memory.int32(queue + at) for at in (layout.first, layout.last))
    if not memory.int32(queue + layout.waiting):
        return []
    slots = [(first + n) % layout.slots for n in range((last - first) % layout.slots)]
    places = [queue + layout.calls + slot * layout.stride for slot in slots]
    return [(memory.word(place), memory.word(place + 8)) for place in places]


@pytest.fixture(params=LAYOUTS, ids=lambda version: ".".join(map(str, version)))
def layout(request):
    return LAYOUTS[request.param]


@pytest.fixture
def call_of(layout, monkeypatch):
    """Return what gives a call on a memory, as of a process that can be stopped."""

    def prepare(memory):
        monkeypatch.setattr(module, "ForeignMemory", lambda pid: memory)
        return PendingCall(1, BEGAN, layout, Symbols(RUNTIME, RUN))

    monkeypatch.setattr(module, "mappings", lambda pid: [])
    monkeypatch.setattr(module, "unused_room", lambda memory, mapped, size: TEXT)
    monkeypatch.setattr(module, "stopped", lambda pid: contextlib.nullcontext())
    monkeypatch.setattr(module, "interrupt_wait", lambda thread: None)
    monkeypatch.setattr(module, "process_began", lambda pid: BEGAN)
    monkeypatch.setattr(module, "_PAUSE", 0.0)
    return prepare


def test_interpreter_is_given_one_call_with_the_text(layout, call_of):
    memory = at_rest(layout)
    call_of(memory).make("pass")
    assert calls_that_wait(memory, layout) == [(RUN, TEXT)]
    assert memory.read(TEXT, 5) == b"pass\0"


def test_whoever_is_killed_while_writing_leaves_a_whole_call_or_none(layout, call_of):
    for writes in range(20):
        memory = at_rest(layout)
        memory.writes_left = writes
        with contextlib.suppress(Killed):
            call_of(memory).make("pass")
        assert calls_that_wait(memory, layout) in ([], [(RUN, TEXT)])
    assert memory.writes_left  # the last one came to its end


def test_every_thread_is_told_to_look(layout, call_of):
    memory = at_rest(layout)
    call_of(memory).make("pass")
    owners = [INTERPRETER] if layout.threads is None else THREADS
    assert all(memory.word(owner + layout.breaker) & layout.bit for owner in owners)


def test_call_that_was_not_made_is_taken_out_again(layout, call_of):
    memory = at_rest(layout)
    call = call_of(memory)
    call.make("pass")
    assert call.withdraw()
    assert calls_that_wait(memory, layout) == []
    call.clear()
    assert not any(memory.read(TEXT, 5))


def test_call_that_was_made_is_not_taken_out(layout, call_of):
    memory = at_rest(layout)
    call = call_of(memory)
    call.make("pass")
    memory.write_int32(INTERPRETER + layout.queue + layout.first, 1)
    assert not call.withdraw()


def test_queue_that_is_in_use_is_left_alone(layout, call_of):
    memory = at_rest(layout)
    memory.write_int32(INTERPRETER + layout.queue + layout.last, 1)
    before = copy.copy(memory.cells)
    with pytest.raises(UsageError, match="in use all the time"):
        call_of(memory).make("pass")
    assert {at: memory.cells[at] for at in before} == before


def test_queue_that_a_thread_is_at_is_left_alone(layout, call_of):
    memory = at_rest(layout)
    lock = INTERPRETER + layout.queue + layout.lock if layout.lock_is_byte else LOCK
    memory.write_int32(lock, 1 if layout.lock_is_byte else 0)
    with pytest.raises(UsageError, match="in use all the time"):
        call_of(memory).make("pass")
    assert calls_that_wait(memory, layout) == []


def test_memory_that_does_not_look_like_a_queue_is_left_alone(layout, call_of):
    memory = at_rest(layout)
    memory.write_int32(INTERPRETER + layout.queue + layout.first, 123_456)
    before = copy.copy(memory.cells)
    with pytest.raises(UsageError, match="not where expected"):
        call_of(memory).make("pass")
    assert {at: memory.cells[at] for at in before} == before


def test_another_process_of_the_same_number_is_not_written_to(layout, call_of, monkeypatch):
    memory = at_rest(layout)
    monkeypatch.setattr(module, "process_began", lambda pid: BEGAN + 1)
    with pytest.raises(UsageError, match="another has its number"):
        call_of(memory).make("pass")
    assert calls_that_wait(memory, layout) == []
