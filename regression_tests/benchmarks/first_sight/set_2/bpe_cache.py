"""A byte-pair tokenizer with a cache of words, as every one of them has, over a stream of log lines."""

# /// truth
# about = "a tokenizer's cache of words over text that has new identifiers in every sixth line"
# [[leak]]
# type = ["tuple", "str"]
# holder = "cache"
# phase = "tokenize"
# start = 1
# within = 5
# kind = ["container", "instances"]
# ///
import os
import random
import sys

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = random.Random(31)
WORDS = "error timeout retry of request to node with status while waiting for shard lock released".split()
MERGES = {
    pair: rank
    for rank, pair in enumerate(
        [("e", "r"), ("r", "e"), ("t", "i"), ("o", "r"), ("re", "q"), ("s", "t"), ("st", "a"), ("i", "t"), ("0", "x")]
        + [(a, b) for a in "0123456789abcdef" for b in "abcdef"]
    )
}


class Tokenizer:
    def __init__(self, merges, limit=512):
        self.merges, self.limit = merges, limit
        self.cache = {}

    def bpe(self, word):
        if word in self.cache:
            return self.cache[word]
        parts = list(word)
        while len(parts) > 1:
            pairs = [(self.merges.get(pair, 10**9), index) for index, pair in enumerate(zip(parts, parts[1:]))]
            rank, index = min(pairs)
            if rank == 10**9:
                break
            parts[index : index + 2] = [parts[index] + parts[index + 1]]
        tokens = tuple(parts)
        if not LEAK and len(self.cache) >= self.limit:
            del self.cache[next(iter(self.cache))]
        self.cache[word] = tokens
        return tokens

    def encode(self, line):
        return [token for word in line.split() for token in self.bpe(word)]


def lines(count):
    for number in range(count):
        words = rng.choices(WORDS, k=12)
        if number % 6 == 0:
            words[rng.randrange(12)] = f"0x{rng.getrandbits(48):012x}"
        yield " ".join(words)


def main():
    tokenizer = Tokenizer(MERGES)
    counts = {}
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for _ in guard.generations(range(1, 1001)):
            with guard.phase("read"):
                batch = list(lines(360))
            with guard.phase("tokenize"):
                encoded = [tokenizer.encode(line) for line in batch]
            with guard.phase("count"):
                for tokens in encoded:
                    for token in tokens:
                        if len(token) <= 2:
                            counts[token] = counts.get(token, 0) + 1
    print(sorted(counts.items(), key=lambda item: -item[1])[:5])


main()
