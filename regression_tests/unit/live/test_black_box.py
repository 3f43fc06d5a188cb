"""Near a limit a run records who holds the memory, at each threshold once."""

from __future__ import annotations

import os
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from leakguard.capture.ceilings import FollowedLimit
from leakguard.capture.sampled_walk import Estimate
from leakguard.live import tripwire
from leakguard.live.black_box import BlackBox, out_of_memory
from leakguard.live.meter import CostMeter
from leakguard.live.safety import Safety
from leakguard.live.tripwire import Tripwire
from leakguard.model.brink import Ceiling
from leakguard.model.holder import Holder

GB = 1_000_000_000


class FakeCeilings:
    def __init__(self):
        self.share, self.most = 0.1, GB

    def read(self):
        ceiling = Ceiling("cgroup", int(self.share * self.most), self.most)
        return [FollowedLimit(ceiling, "/nowhere", 0, ceiling.used, 1)]

    def resident(self):
        return None

    def own_bytes(self):
        return int(self.share * self.most)

    def stalled(self):
        return None


class FakeJournal:
    def __init__(self):
        self.lines, self.synced, self.failures, self.next_serial = [], 0, [], 0

    def add(self, snapshot, round_):
        self.lines.append(snapshot.brink)

    def sync(self):
        self.synced = len(self.lines)

    def fail(self, failure):
        self.failures.append(failure)


class NoWire:
    is_set = False

    def __init__(self, call): ...
    def start(self): ...
    def stop(self): ...


class OutOfMemoryError(RuntimeError):
    """As torch's, for a GPU and for the CPU."""


class FakeCuda:
    """The part of ``torch.cuda`` that tells of a device."""

    @staticmethod
    def is_initialized():
        return True

    @staticmethod
    def current_device():
        return 0

    @staticmethod
    def memory_allocated(device):
        return {0: 1, 1: 30 * GB}[device]

    @staticmethod
    def get_device_properties(device):
        return SimpleNamespace(total_memory=80 * GB)


@pytest.fixture
def box():
    meter = CostMeter(time.perf_counter)
    asked = []

    def look(before, steps):
        asked.append((before, steps))
        held = Holder("__main__.history[*]", "bytes", 9, retained_bytes=700_000_000)
        return Estimate((held,), {("__main__",): 1.0}, 800_000_000, 5, True)

    made = BlackBox(
        FakeJournal(), meter, Safety(meter), lambda: 3, FakeCeilings(), look, NoWire
    )  # fmt: skip
    made.prepare()
    return made, asked


def at(box, *shares):
    for share in shares:
        box.ceilings.share = share
        box.at_boundary()
    return box.journal.lines


def test_each_threshold_is_looked_at_once_and_written_down_to_the_disk(box):
    made, _ = box

    lines = at(made, 0.2, 0.86, 0.86, 0.5, 0.86, 0.96, 0.97, 0.96)

    assert [line.threshold for line in lines] == [0.85, 0.95, None]
    assert lines[0].holders[0].path == "__main__.history[*]"
    assert made.journal.synced == len(lines)


def test_between_thresholds_each_further_per_cent_is_one_line_of_numbers(box):
    made, _ = box

    lines = at(made, 0.851, 0.8611, 0.8612, 0.872, 0.872)

    assert [(line.threshold, bool(line.holders)) for line in lines] == [
        (0.85, True), (None, False), (None, False),
    ]  # fmt: skip


def test_half_way_the_sizes_are_remembered_so_that_growth_is_known(box):
    made, asked = box

    lines = at(made, 0.55, 0.9)

    assert lines[0].grew
    assert asked[1][0] == {("__main__",): 1.0}


def test_far_from_a_limit_nothing_is_looked_at_or_written(box):
    made, asked = box

    assert at(made, 0.1, 0.3, 0.49) == []
    assert asked == []


def test_where_hardly_anything_is_left_there_is_no_look_and_it_is_said(box):
    made, asked = box
    made.ceilings.most = 20_000_000

    lines = at(made, 0.96)

    assert asked == []
    assert "only 800 kB were left" in lines[0].skipped
    assert not lines[0].holders


def test_what_the_reserve_gives_back_is_room_for_a_look(box, monkeypatch):
    made, asked = box
    made.ceilings.most = 20_000_000
    monkeypatch.setattr(BlackBox, "_release", lambda box: setattr(box.ceilings, "share", 0.8))

    assert at(made, 0.96)[0].skipped is None
    assert asked


def test_a_look_takes_a_share_of_what_is_left(box):
    made, asked = box
    made.ceilings.most = 100_000_000

    at(made, 0.96)

    assert asked[0][1] < 4_000_000 / 400


def test_gpu_that_ran_out_is_looked_at_and_not_the_host(box, monkeypatch):
    made, asked = box
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=FakeCuda))
    held = Holder("trainer.kept[*]", "torch.Tensor", 9, retained_bytes=29 * GB)
    made.look_at_devices = lambda: Estimate((held,), {}, 30 * GB, 5, True)

    made.fail(OutOfMemoryError("CUDA out of memory. GPU 1 has a total capacity of 80 GB"))

    (line,) = made.journal.lines
    assert line.ceiling == Ceiling("gpu", 30 * GB, 80 * GB)
    assert (line.holders, line.own, line.threshold) == ((held,), 30 * GB, line.ceiling.share)
    assert asked == []


def test_without_cuda_the_host_is_looked_at(box, monkeypatch):
    made, asked = box
    monkeypatch.delitem(sys.modules, "torch", raising=False)

    made.fail(OutOfMemoryError("not enough memory: you tried to allocate 8 GB"))

    (line,) = made.journal.lines
    assert line.ceiling.kind == "cgroup"
    assert len(asked) == 1


def test_a_look_that_fails_is_told_and_hurts_nobody(box):
    made, _ = box
    made.look = lambda before, steps: 1 / 0

    assert "ZeroDivisionError" in at(made, 0.9)[0].skipped


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (MemoryError("Unable to allocate 1 GiB"), "MemoryError"),
        (OutOfMemoryError("CUDA out of memory"), f"{__name__}.OutOfMemoryError"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "RuntimeError"),
        (RuntimeError("a shape does not fit"), None),
        (KeyboardInterrupt(), None),
        (None, None),
    ],
)
def test_exceptions_that_say_that_memory_ran_out_are_known(error, told):
    failure = out_of_memory(error)

    assert (None if failure is None else failure.type) == told


needs_part = pytest.mark.skipif(tripwire._part is None, reason="the compiled part is not built")


@pytest.fixture
def wire():
    calls = []
    made = Tripwire(lambda: calls.append(threading.get_ident()))
    made.start()
    yield made, calls
    made.stop()


def _until(true):
    ends = time.monotonic() + 60
    while not true() and time.monotonic() < ends:
        time.sleep(0.01)
    assert true()


@needs_part
def test_tripwire_calls_in_the_main_thread_once_a_number_passes_its_bound(wire, tmp_path):
    made, calls = wire
    threads = threading.active_count(), len(sys._current_frames())
    file = tmp_path / "number"
    file.write_text("1 50\n")

    made.arm([(str(file), 1, 60, False)], 0.01, 0.0)
    time.sleep(0.1)
    assert calls == []
    file.write_text("1 61\n")
    _until(lambda: calls)

    assert calls == [threading.main_thread().ident]
    assert (threading.active_count(), len(sys._current_frames())) == threads


@needs_part
def test_tripwire_calls_by_itself_while_the_main_thread_waits(wire, tmp_path):
    made, calls = wire
    file = tmp_path / "number"
    file.write_text("5\n")
    held = threading.Lock()
    held.acquire()

    made.arm([(str(file), 0, 6, True)], 0.01, 0.0)
    held.acquire(timeout=2)

    assert calls
    assert calls[0] != threading.main_thread().ident


@needs_part
def test_tripwire_goes_on_after_a_fork_and_the_child_has_none(wire, tmp_path):
    made, calls = wire
    file = tmp_path / "number"
    file.write_text("1\n")
    made.arm([(str(file), 0, 5, False)], 0.01, 0.0)

    child = os.fork()
    if child == 0:
        os._exit(len(tripwire._running) + len(os.listdir("/proc/self/task")) - 1)  # noqa: PTH208
    assert os.waitpid(child, 0)[1] == 0
    file.write_text("9\n")

    _until(lambda: calls)
