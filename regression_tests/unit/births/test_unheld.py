"""What none of the holders has is known block by block, so a small rest has its line."""

from __future__ import annotations

import pytest
from birth_programs import needs_births, played

from leakguard import diagnose

PACKED = """
import random, sys, zlib
from leakguard import LeakGuard

class Receipts:
    def __init__(self):
        self.rows, self.packers, self.hidden = [], {}, []

    def read(self, number):
        self.rows.append([bytes(1_000) for _ in range(400)])

    def pack(self, number):
        packer = self.packers[number] = zlib.compressobj(6, zlib.DEFLATED, 12, 5)
        packer.compress(bytes(100))

    def forget(self, number):
        FORGET

receipts, busy = Receipts(), random.Random(7)
with LeakGuard(out=sys.argv[1], report=None) as guard:
    for number in guard.generations(range(50)):
        receipts.read(number)
        receipts.pack(number)
        receipts.forget(number)
        sorted(busy.random() for _ in range(50_000))
"""


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    return played(tmp_path_factory.mktemp("packed"), PACKED.replace("FORGET", "pass"))


@needs_births
def test_native_memory_behind_small_objects_is_their_holders_beside_a_larger_leak(packed):
    findings = {finding.held_by: finding for finding in diagnose(packed).findings}
    assert set(findings) == {"__main__.receipts.rows[*]", "__main__.receipts.packers[*]"}
    packers = findings["__main__.receipts.packers[*]"]
    assert (packers.verdict, packers.type) == ("leak", "zlib.Compress")
    assert (packers.created_at or "").startswith("program.py:13 ")
    assert packers.bytes_per_generation == pytest.approx(40_000, rel=0.4)


@needs_births
def test_what_a_holder_has_is_not_among_what_none_has(packed):
    lines = {place.place for place in packed.snapshots[-1].unheld}
    assert "program.py:13" in lines
    assert "program.py:10" not in lines


@needs_births
def test_memory_that_is_let_go_of_is_nobodys_leak(tmp_path):
    run = played(tmp_path, PACKED.replace("FORGET", "self.packers.pop(number - 3, None)"))
    assert {finding.held_by for finding in diagnose(run).findings} == {"__main__.receipts.rows[*]"}


@needs_births
def test_what_a_line_left_to_nobody_says_which_call_to_look_at(tmp_path):
    lost = PACKED.replace(
        "packer = self.packers[number] = zlib.compressobj(6, zlib.DEFLATED, 12, 5)",
        "packer = zlib.compressobj(6, zlib.DEFLATED, 12, 5)",
    ).replace("FORGET", "pass")
    lost = lost.replace(
        "packer.compress(bytes(100))",
        "packer.compress(bytes(100)); ctypes.pythonapi.Py_IncRef(ctypes.py_object(packer))",
    ).replace("import random", "import ctypes, random")
    # What is lost must clearly be more than a tenth of the rest, from which on it is reported.
    lost = lost.replace("range(400)", "range(250)")
    findings = diagnose(played(tmp_path, lost)).findings
    left = next(finding for finding in findings if finding.held_by is None)
    assert (left.verdict, left.created_at) == ("leak", "program.py:13 in pack")
    assert left.fix.startswith("see what program.py:13 calls")
