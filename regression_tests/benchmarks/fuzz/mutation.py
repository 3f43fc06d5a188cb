"""How an input is changed by chance: bytes, tokens, lines, numbers."""

from __future__ import annotations

import random

# Text that readers care for, thrown in anywhere.
_TOKENS = [
    b"MEMORY SNAPSHOT: Gen 3: After x", b"MEMORY TREND", b"MEMORY GROWTH ANALYSIS", b"=" * 70,
    b"RAM: 3 GB", b"Generation 3 / 25", b"[3/25] ", b"Epoch 3:", b"Live agents: 17",
    b"Baseline: x", b"\r", b"\n", b"\n\n", b"\x1b[0m", b"\xff\xfe", b"\x00",
    b"\xe3\x80\x80" * 40, b"9" * 400, b"1e999", b"-1", b"NaN", b"null",
    b"{}", b"[]", b'""', b"true", b'{"snapshot":{}}', b'{"run":{}}',
    b'{"end":{}}', b":", b'"', b",", b"   a (1,) b on c:  1 MB", b"   x=1(+1),2(+2); y",
    b"   holder {}", b"[rank1]: ", b"2025-01-07 10:00:00 ",
    b"[tool.leakguard]\n", b"ignore = ", b"[budget]\n", b"growth = ", b"1 GB", b"*" * 40, b"[!",
    b"[a-", b"a." * 200, b"\"\"\"", b"(?P<ram>", b"(?P<count_>", b"(?:", b"(", b")", b"{1,9}", b"{",
    b"(?i)", b"(?=", b"(?(1)", b"[[", b"\\d+", b"\\w*", b"\\", b".*?", b"|", b"++",
    b"\\N{DIGIT ONE}",
]  # fmt: skip
# Thousands of bytes each, and so thrown in seldom: they would take nearly all of the time.
_LARGE = [
    b'"x":' + b"[" * 5000 + b"]" * 5000 + b",", b'{"a":' * 2000, b"= " + b"[" * 2000,
    b"=" + b"9" * 5000 + b"\n", b"(" * 3000 + b")" * 3000, b"a{9}" * 800,
]  # fmt: skip
_SIGNS = [b"\n", b"{", b":", b",", b" ", b"=", b"("]
_SELDOM = 0.03  # share of the changes that add thousands of bytes


def mutated(data: bytes, generator: random.Random) -> bytes:
    """Return the data after one to eight changes."""
    for _ in range(generator.randint(1, 8)):
        data = _changed(data, generator)
    return data


def _changed(data: bytes, generator: random.Random) -> bytes:
    start = _place(data, generator)
    stop = min(len(data), start + generator.choice([0, 1, 1, 4, 40, 400]))
    change = generator.randrange(6)
    if change == 0:
        middle = generator.randbytes(generator.choice([1, 1, 2, 8]))
    elif change == 1:
        middle = generator.choice(_LARGE if generator.random() < _SELDOM else _TOKENS)
    elif change == 2:
        middle = data[start:stop] * (
            100 if generator.random() < _SELDOM else generator.choice([0, 2, 3])
        )
    elif change == 3:
        other = generator.randrange(len(data) + 1)
        middle = data[other : other + generator.choice([10, 100, 1000])]
    elif change == 4:
        middle = bytes(generator.choices(b"0123456789-.e", k=generator.randint(1, 25)))
        stop = min(len(data), start + 1)
    else:
        return data[:start]
    return data[:start] + middle + data[stop:]


def _place(data: bytes, generator: random.Random) -> int:
    """Return a place to change: anywhere, or behind a sign that readers look for."""
    start = generator.randrange(len(data) + 1)
    if generator.random() < 0.5:
        start = data.find(generator.choice(_SIGNS), start) + 1
    return start
