"""What torch's allocator of GPU memory hands out is recorded with the line that asked for it.

No GPU is needed: a library with the name of torch's own leads to the allocator of the host.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys

import pytest
from birth_programs import needs_births, run

import leakguard

pytestmark = [
    needs_births,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="GPUs are watched on x86-64"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is here"),
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not here"),
]
NAME = "libc10_cuda.so"
ALLOCATOR = "_ZN3c104cuda20CUDACachingAllocator9allocatorE"
LOADED = f"""
import ctypes, os, torch
stand_in = ctypes.CDLL(os.environ["STAND_IN"])
host = ctypes.CDLL(torch.__path__[0] + "/lib/libc10.so")._ZN3c1022GetDefaultCPUAllocatorEv
host.restype = ctypes.c_void_p
ctypes.c_void_p.in_dll(stand_in, "{ALLOCATOR}").value = host()
"""
DEVICE = 2
SURVIVORS = f"""
record.check()
record.mark(0, "")

def on_device():
    found = record.survivors(1)
    blocks = [block for block in found.blocks if block.row[3] == {DEVICE}]
    return {{block.address: found.stacks.frames(block.row[0])[0] for block in blocks}}
"""


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory):
    """A library that has the name and the one variable of torch's CUDA library."""
    folder = tmp_path_factory.mktemp("cuda")
    (folder / "cuda.c").write_text(f"void *{ALLOCATOR};\n")
    command = ["cc", "-shared", "-fPIC", f"-Wl,-soname,{NAME}", "-o", folder / NAME]
    subprocess.run([*command, folder / "cuda.c"], check=True)
    return str(folder / NAME)


def test_a_kept_tensor_has_the_line_that_made_it_and_the_host_counts_no_bytes(stand_in):
    said = run(
        SURVIVORS
        + """
def made():
    return torch.empty(100_000)

kept = [made() for _ in range(4)]
found = on_device()
print(all(found[one.data_ptr()][2] == "made" for one in kept))
print(any(place.device for place in record.cohorts(1).places))
""",
        before=LOADED,
        STAND_IN=stand_in,
    )
    assert said == ["True", "False"]


def test_a_sample_ends_where_its_address_is_handed_out_again(stand_in):
    said = run(
        SURVIVORS
        + """
def first():
    return torch.empty(1_000_000)

def second():
    return torch.empty(1_000_000)

one = first()
address = one.data_ptr()
print(on_device()[address][2])
del one
other = second()
print(other.data_ptr() != address or on_device()[address][2])
""",
        before=LOADED,
        STAND_IN=stand_in,
    )
    assert said[0] == "first"
    assert said[1] in ("second", "True")


def test_an_exception_of_the_allocator_passes_through(stand_in):
    said = run(
        SURVIVORS
        + """
try:
    torch.empty(1 << 55, dtype=torch.uint8)
except RuntimeError as error:
    print("allocate" in str(error))
print(torch.ones(10).sum().item())
""",
        before=LOADED,
        STAND_IN=stand_in,
    )
    assert said == ["True", "10.0"]


def test_tensors_that_threads_make_and_drop_leave_the_program_as_it_is(stand_in):
    said = run(
        SURVIVORS
        + """
def work():
    for size in range(2_000):
        torch.empty(size * 7 + 1)

threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for _ in range(20):
    record.check()
    torch.empty(5_000)
for thread in threads:
    thread.join()
record.stop()
print(torch.ones(1_000).sum().item())
""",
        before=LOADED,
        STAND_IN=stand_in,
    )
    assert said == ["1000.0"]


KEEPS = """
from leakguard import LeakGuard
kept = []

def rollout():
    return torch.rand(50_000)  # MADE

with LeakGuard(out=os.environ["OUT"], report=None) as guard:
    for _ in guard.generations(range(1, 13)):
        with guard.phase("collect"):
            kept.append(rollout())
"""


def test_a_holder_has_the_lines_of_the_device_memory_that_it_keeps(stand_in, tmp_path):
    program, out = tmp_path / "keeps.py", tmp_path / "run.jsonl"
    program.write_text(LOADED + KEEPS)
    environment = os.environ | {"STAND_IN": stand_in, "OUT": str(out)}
    subprocess.run([sys.executable, program], check=True, env=environment, timeout=120)
    told = leakguard.load(out)
    born = [place for shot in told.snapshots for holder in shot.holders for place in holder.born]
    assert any(place.device and place.function == "rollout" for place in born)
    (finding,) = leakguard.diagnose(told).findings
    line = KEEPS[: KEEPS.index("# MADE")].count("\n") + LOADED.count("\n") + 1
    assert finding.created_at.startswith(f"keeps.py:{line} ")
    assert finding.phase == "collect"
