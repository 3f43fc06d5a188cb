"""Leaks of libraries that others have reported, told apart from the program's own.

Each entry names its public report; what cannot be pointed to is not listed. What the program
itself keeps of a library's objects is the program's leak.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from leakguard.model import Finding
from leakguard.model.known_leak import KnownLeak

KNOWN_LEAKS = (
    KnownLeak(
        "botocore",
        "a botocore session keeps the handlers of every boto3.Session that was made from it: make "
        "one boto3.Session and use it again",
        "boto/boto3#2176",
        types=("botocore.hooks.*",),
        path=("*(botocore.hooks.*)",),
    ),
    KnownLeak(
        "torch",
        "what torch.compile compiled, with its guards, can outlive the module it was compiled for: "
        "compile once outside of the loop, or call torch._dynamo.reset()",
        "pytorch/pytorch#105181",
        types=("torch._dynamo.*", "torch._inductor.*", "torch._guards.*"),
    ),
    KnownLeak(
        "numpy",
        "array.ctypes leaves a reference cycle that holds the array until the collector runs: ask "
        "for it once an array, or read array.__array_interface__ instead",
        "numpy/numpy#13808",
        types=("numpy.core._internal._ctypes", "numpy._core._internal._ctypes"),
    ),
    KnownLeak(
        "gymnasium",
        "RecordVideo holds on to recorded frames: record fewer episodes (episode_trigger), or give "
        "it a gc_trigger, which gymnasium has since 1.2",
        "Farama-Foundation/Gymnasium#1377",
        path=("*(gymnasium.wrappers.*RecordVideo)", ".recorded_frames *"),
    ),
)


def with_library(finding: Finding, known: Sequence[KnownLeak] = KNOWN_LEAKS) -> Finding:
    """Return the finding as the library's where it is one of its known leaks."""
    for leak in known:
        if _is(leak, finding):
            return replace(
                finding, library=leak.library, fix=f"{leak.description} (see {leak.source})"
            )
    return finding


def _is(leak: KnownLeak, finding: Finding) -> bool:
    piles_up = any(fnmatchcase(finding.type or "", pattern) for pattern in leak.types)
    return piles_up or (bool(leak.path) and _leads_through(finding.path, leak.path))


def _leads_through(hops: Sequence[str], patterns: Sequence[str]) -> bool:
    """Return whether the patterns match hops in this order, others between them allowed."""
    rest = iter(hops)
    return all(any(fnmatchcase(hop, pattern) for hop in rest) for pattern in patterns)
