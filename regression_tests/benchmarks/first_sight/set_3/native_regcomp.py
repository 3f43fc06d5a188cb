"""A log filter that compiles its patterns with the C library's regcomp."""

# /// truth
# about = "regcomp without regfree for patterns that change with every round, from round 50 on"
# [[leak]]
# kind = ["native", "memory"]
# phase = "filter"
# start = 50
# ///
import ctypes
import os
import random
import sys

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
libc = ctypes.CDLL(None)
libc.regcomp.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
libc.regexec.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int]
libc.regfree.argtypes = [ctypes.c_void_p]
random.seed(4)
EXTENDED, NOSUB = 1, 8


class Pattern:
    def __init__(self, text: str) -> None:
        self.room = ctypes.create_string_buffer(64)
        if libc.regcomp(self.room, text.encode(), EXTENDED | NOSUB):
            raise ValueError(text)

    def matches(self, line: str) -> bool:
        return libc.regexec(self.room, line.encode(), 0, None, 0) == 0

    def close(self) -> None:
        libc.regfree(self.room)


def make_lines(count: int) -> list[str]:
    return [f"host{random.randrange(99)} job{random.randrange(999)} loss={random.random():.5f}" for _ in range(count)]


def filter_lines(lines: list[str], number: int) -> int:
    kept = 0
    for part in range(4):
        pattern = Pattern(f"host[0-9]+ job({number % 97}|{part}[0-9]*) (loss|acc)=0\\.[0-{part + 4}]+")
        kept += sum(pattern.matches(line) for line in lines)
        if not LEAK or number < 50:
            pattern.close()
    return kept


guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for number in guard.generations(range(1, 251)):
        with guard.phase("read"):
            lines = make_lines(1_200)
        with guard.phase("filter"):
            filter_lines(lines, number)
