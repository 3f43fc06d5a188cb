"""A part in C that was built for another interface is done without; its number is kept right."""

from __future__ import annotations

import re
import subprocess
import sys
import zlib
from pathlib import Path
from types import ModuleType

import pytest

import leakguard
from leakguard.compiled_part import check_interface

_PACKAGE = Path(leakguard.__file__).parent
#: Stubs, with the file that calls the part and the one that says what it was built for.
_PARTS = [
    ("capture/heap/_scan.pyi", "../compiled.py", "../scan/scan.h"),
    ("capture/births/_births.pyi", "../birth_record.py", "../record/births.h"),
    ("live/_sigterm.pyi", "../ending.py", "../_sigterm.c"),
    ("live/_tripwire.pyi", "../tripwire.py", "../_tripwire.c"),
    ("store/textlog/_find.pyi", "../anchors.py", "../_find.c"),
]
# What a program hears of a part of another version: nothing, and what the part is for goes on.
_USES = {
    "leakguard.live._sigterm": """
import signal
from leakguard import LeakGuard
with LeakGuard(report=None) as guard:
    for _ in guard.generations(range(3)):
        pass
print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
""",
    "leakguard.store.textlog._find": """
from leakguard.store.textlog.anchors import Anchors
print(Anchors([b"memory", b"total"]).find(bytearray(b"all: total memory"), 0, 17) == 5)
""",
}


@pytest.mark.parametrize("stub", [stub for stub, *_ in _PARTS])
def test_number_of_an_interface_is_that_of_what_python_knows_of_the_part(stub):
    caller, part = next(rest for name, *rest in _PARTS if name == stub)
    number = zlib.crc32((_PACKAGE / stub).read_bytes()) & 0x7FFFFFFF
    checked = r"(?:check_interface\(_\w+, |\nINTERFACE = )"
    for source, said in ((caller, checked), (part, "#define [A-Z_]*INTERFACE ")):
        text = (_PACKAGE / stub / source).resolve().read_text("utf-8")
        told = re.search(f"{said}(0x[0-9a-fA-F]+)", text)
        assert told is not None
        assert int(told[1], 16) == number, f"{source}: the interface is {number:#x}"


def test_every_stub_of_a_compiled_part_has_its_number_checked():
    assert {_PACKAGE / stub for stub, *_ in _PARTS} == set(_PACKAGE.rglob("*.pyi"))


def test_part_that_tells_no_interface_or_another_one_is_refused():
    for told in ({}, {"INTERFACE": 2}):
        part = ModuleType("old")
        vars(part).update(told)
        with pytest.raises(ImportError, match="old was built from other sources"):
            check_interface(part, 1)


@pytest.mark.parametrize("name", _USES)
def test_program_goes_on_without_a_part_of_another_version(name):
    old = f"import sys, types\nsys.modules[{name!r}] = types.ModuleType('old')\n"
    done = subprocess.run([sys.executable, "-c", old + _USES[name]], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True\n", "")
