"""Tokenizes a stream of log lines with a BPE model that remembers the words it has split."""

# /// truth
# about = """the word cache of the tokenizer fills until its capacity is reached, about half-way
# through the run; a second cache of line lengths, an lru_cache, is full a little earlier"""
# ///
import functools
import os
import random
import sys

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from leakguard import LeakGuard

assert sys.argv[1] == "clean"
GENERATIONS = 300
LINES = 90
CACHED_WORDS = 28_000
SYLLABLES = [a + b for a in "bcdfghklmnprstvz" for b in "aeiou"]


def word(draw: random.Random) -> str:
    return "".join(draw.choices(SYLLABLES, k=draw.randint(2, 5)))


def train(draw: random.Random) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]", cache_capacity=CACHED_WORDS))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=["[UNK]"], show_progress=False, min_frequency=1
    )
    corpus = [" ".join(word(draw) for _ in range(20)) for _ in range(60)]
    tokenizer.train_from_iterator(corpus, trainer)
    return tokenizer


@functools.lru_cache(maxsize=4_000)
def weight(line_hash: int) -> float:
    """How much a line counts; lines that come again are not computed again."""
    value = line_hash % 9_973 + 1
    for _ in range(60):
        value = (value * 48_271) % 2_147_483_647
    return 1.0 / (1 + value % 100)


class Stream:
    """Three of four words are common; the others have hardly ever been seen before."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.common = [word(draw) for _ in range(2_000)]

    def line(self) -> str:
        words = self.draw.choices(self.common, k=24)
        words += [word(self.draw) + str(self.draw.randrange(10)) for _ in range(2)]
        return " ".join(words)


def main() -> None:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    draw = random.Random(43)
    tokenizer = train(draw)
    stream = Stream(draw)
    totals = [0.0] * tokenizer.get_vocab_size()
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for _ in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("read"):
                lines = [stream.line() for _ in range(LINES)]
            with guard.phase("tokenize"):
                encoded = [tokenizer.encode(line).ids for line in lines]
            with guard.phase("count"):
                for line, ids in zip(lines, encoded, strict=True):
                    share = weight(sum(line.encode()) * len(ids))
                    for token in ids:
                        totals[token] += share


if __name__ == "__main__":
    main()
