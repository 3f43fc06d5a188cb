"""A pool of blocks of uneven sizes whose entries are replaced at random, by four threads."""

# /// truth
# about = "blocks of uneven sizes are replaced by threads: the allocator's memory settles slowly"
# ///
import os
import random
from concurrent.futures import ThreadPoolExecutor

from leakguard import LeakGuard

random.seed(141)
POOL = [bytearray(random.randrange(500, 60_000)) for _ in range(1_500)]


def replace(seed: int, first: int) -> int:
    own = random.Random(seed)
    total = 0
    for _ in range(60):
        place = first + own.randrange(len(POOL) // 4)
        block = bytearray(int(500 * 1.5 ** own.uniform(0, 12)))
        block[::16] = bytes(len(block[::16]))
        POOL[place] = block
        total += len(block)
    return total


def digest() -> int:
    total = 0
    for block in POOL[:400]:
        total = (total * 31 + sum(block[:200])) % 2**61
    return total


guard = LeakGuard(out=os.environ["RUN_FILE"])
with ThreadPoolExecutor(4) as threads, guard:
    for number in guard.generations(range(1, 251)):
        with guard.phase("replace"):
            sum(threads.map(replace, range(number * 4, number * 4 + 4), range(0, len(POOL), len(POOL) // 4)))
        with guard.phase("digest"):
            digest()
