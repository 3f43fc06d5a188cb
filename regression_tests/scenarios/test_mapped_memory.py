"""Memory that objects map is named with its holder, also beside a larger leak of another phase."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from leakguard import diagnose, load

_STORE = """
import mmap, numpy, sys
from leakguard import LeakGuard, phase

class Catalog:
    def __init__(self):
        self.pinned = {}
        self.versions = []

catalog = Catalog()

@phase("learn")
def learn():
    catalog.versions.append([bytes(1_000) for _ in range(400)])

@phase("publish")
def publish(version):
    segment = mmap.mmap(-1, 120_000)
    segment.write(bytes(120_000))
    catalog.pinned[version] = KEPT
    LET_GO

with LeakGuard(out=sys.argv[1], report=None) as guard:
    for generation in guard.generations(range(24)):
        learn()
        if generation >= 6:
            publish(generation)
"""


@pytest.mark.parametrize("kept", ["segment", "numpy.frombuffer(segment, numpy.uint8)"])
@pytest.mark.parametrize("let_go", ["pass", "catalog.pinned.pop(version - 3, segment)"])
def test_segments_that_are_kept_are_told_beside_a_larger_leak(tmp_path, let_go, kept):
    script, out = tmp_path / "store.py", tmp_path / "run.jsonl"
    program = textwrap.dedent(_STORE).replace("LET_GO", let_go).replace("KEPT", kept)
    script.write_text(program, "utf-8")
    subprocess.run([sys.executable, script, out], check=True, timeout=120)

    findings = {f.phase: f for f in diagnose(load(out)).findings}
    assert findings["learn"].held_by == "__main__.catalog.versions[*]"
    if let_go != "pass":
        assert list(findings) == ["learn"]
        return
    published = findings["publish"]
    assert (published.held_by, published.started_at) == ("__main__.catalog.pinned[*]", 6)
    assert published.type == "mmap.mmap"
    assert 110_000 < published.bytes_per_generation < 130_000
    assert "__main__.catalog.pinned[*] only grows" in published.fix
