"""On a machine with CUDA: what is read of the GPU, and a leak that lives there."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)

from leakguard import LeakGuard
from leakguard.capture import heap
from leakguard.capture.gpu import gpu_memory

BLOCK = 4_000_000  # float32 values: 16 MB


def test_readings_are_those_of_torch():
    block = torch.ones(BLOCK, device="cuda")
    reading = gpu_memory()
    assert reading["gpu_allocated"] == torch.cuda.memory_allocated()
    assert reading["gpu_reserved"] == torch.cuda.memory_reserved()
    assert reading["gpu_allocated.0"] >= block.nbytes


def test_census_counts_gpu_storage_apart_and_once():
    base = torch.zeros(BLOCK, device="cuda")
    before = heap.census().census.tensors["cuda:0"]
    views = [base[:10], base.view(2, -1), base.detach()]
    after = heap.census().census.tensors["cuda:0"]
    assert after.bytes == before.bytes
    assert after.objects == before.objects + len(views)


def test_large_gpu_tensors_are_listed_with_their_device():
    block = torch.zeros(BLOCK * 4, device="cuda")
    large = heap.census(large=50_000_000).census.large
    assert any(entry.device == "cuda:0" and entry.bytes == block.nbytes for entry in large)


def train(kept: list[object]) -> LeakGuard:
    weight = torch.zeros(1000, 1000, device="cuda", requires_grad=True)
    with LeakGuard(max_overhead=None) as guard:
        for _ in guard.generations(range(1, 7)):
            with guard.phase("train"):
                loss = (weight * torch.rand(1000, 1000, device="cuda")).sum()
                kept.append(loss)
            with guard.phase("validate"):
                torch.rand(1000, 1000, device="cuda").sum().item()
    return guard


class Floats(list):
    """A loss history that stores numbers."""

    def append(self, loss):
        super().append(loss.item())


def test_losses_kept_on_the_gpu_are_a_leak_of_the_phase_that_keeps_them():
    report = train([]).report()
    assert report.verdict == "leak"
    (finding,) = report.findings
    assert finding.phase == "train"
    assert finding.kind in ("gpu", "autograd", "tensors")
    assert finding.bytes_per_generation == pytest.approx(4_000_000, rel=0.2)


def test_losses_kept_as_numbers_are_silent():
    report = train(Floats()).report()
    assert report.findings == ()
