"""Leaks of libraries that are publicly known, told apart from the program's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from leakguard.model import Finding


@dataclass(frozen=True, slots=True)
class KnownLeak:
    """What a known leak of a library looks like, and where it is described.

    Attributes:
        library: name of the library as it is imported.
        types: what piles up, by patterns of qualified types (``fnmatch``); only such as nobody
            but the library makes.
        path: patterns of hops on the way to what piles up, in order; the way leads through the
            library, whoever made the objects.
        description: what the library keeps and what to do about it, in one sentence.
        source: the public report, ``owner/repository#number``.
    """

    library: str
    description: str
    source: str
    types: tuple[str, ...] = ()
    path: tuple[str, ...] = ()


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


def known_leak(finding: Finding) -> KnownLeak | None:
    """Return the library's leak that a finding is; None for the program's own."""
    return next((leak for leak in KNOWN_LEAKS if _is(leak, finding)), None)


def _is(leak: KnownLeak, finding: Finding) -> bool:
    piles_up = any(fnmatchcase(finding.type or "", pattern) for pattern in leak.types)
    return piles_up or (bool(leak.path) and _leads_through(finding.path, leak.path))


def _leads_through(hops: Sequence[str], patterns: Sequence[str]) -> bool:
    """Return whether the patterns match hops in this order, others between them allowed."""
    rest = iter(hops)
    return all(any(fnmatchcase(hop, pattern) for hop in rest) for pattern in patterns)
