"""The C allocator keeps what an update frees."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt is glibc's")

PAGE = 4096
TAKEN = 5 * 20_000_000
GRADIENTS = str(TAKEN // 2)
PROGRAM = """
import resource, sys
from reference_trainer.allocator import keep_freed_memory

print(keep_freed_memory(int(sys.argv[1])) if sys.argv[1] else False)

def update():
    blocks = [bytearray(b"1") * 20_000_000 for _ in range(5)]

update()
update()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(4):
    update()
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 4)
"""


def updates(gradients: str, **environment: str) -> tuple[bool, float]:
    """Return whether anything was set, and the page faults of an update that takes 100 MB."""
    variables = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MALLOC", "GLIBC"))
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, gradients],
        env=variables | environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    told, faults = done.stdout.split()
    return told == "True", float(faults)


def test_updates_take_the_memory_again_that_the_last_one_freed():
    kept, faults = updates(GRADIENTS)
    assert kept
    assert faults < TAKEN / PAGE / 50


def test_left_alone_the_allocator_gives_it_back_and_takes_it_anew():
    kept, faults = updates("")
    assert not kept
    assert faults > TAKEN / PAGE / 10


def test_small_networks_keep_little():
    kept, faults = updates("1000")
    assert kept
    assert faults > TAKEN / PAGE / 10


@pytest.mark.parametrize(
    "setting",
    [{"MALLOC_TRIM_THRESHOLD_": "131072"}, {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=1"}],
)
def test_what_the_user_set_stays(setting):
    kept, _ = updates(GRADIENTS, **setting)
    assert not kept
