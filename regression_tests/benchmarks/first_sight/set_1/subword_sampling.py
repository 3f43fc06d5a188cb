"""A language model of counts whose subword vocabulary is sampled anew for each epoch."""
# /// truth
# about = "lru_cache on a method keeps every tokenizer there ever was"
# [[leak]]
# type = "Tokenizer"
# holder = "encode"
# phase = ["sample", "count"]
# start = 1
# within = 1
# kind = "instances"
# ///
import functools
import os
import random
import sys

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
GENERATIONS = 120

chance = random.Random(42)
SYLLABLES = [a + b for a in "bcdfghklmnprst" for b in "aeiou"]
WORDS = ["".join(chance.choices(SYLLABLES, k=chance.randint(2, 5))) for _ in range(700)]
TEXT = chance.choices(WORDS, weights=[1 / (n + 1) for n in range(len(WORDS))], k=30_000)


class Tokenizer:
    def __init__(self, pieces):
        self.pieces = {piece: number for number, piece in enumerate(pieces)}
        self.known = {}

    def split(self, word):
        ids, at = [], 0
        while at < len(word):
            for end in range(min(len(word), at + 6), at, -1):
                number = self.pieces.get(word[at:end])
                if number is not None:
                    ids.append(number)
                    break
            else:
                end = at + 1
                ids.append(-1)
            at = end
        return tuple(ids)

    if LEAK:

        @functools.lru_cache(maxsize=None)
        def encode(self, word):
            return self.split(word)

    else:

        def encode(self, word):
            ids = self.known.get(word)
            if ids is None:
                ids = self.known[word] = self.split(word)
            return ids


guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for epoch in guard.generations(range(1, GENERATIONS + 1)):
        with guard.phase("sample"):
            pieces = set(SYLLABLES)
            while len(pieces) < 1200:
                word = chance.choice(WORDS)
                start = chance.randrange(len(word) - 1)
                pieces.add(word[start : start + chance.randint(2, 6)])
            tokenizer = Tokenizer(sorted(pieces))
        with guard.phase("count"):
            counts = {}
            for word in TEXT:
                for number in tokenizer.encode(word):
                    counts[number] = counts.get(number, 0) + 1
        with guard.phase("score"):
            score = sum(count * count for count in counts.values()) ** 0.5
