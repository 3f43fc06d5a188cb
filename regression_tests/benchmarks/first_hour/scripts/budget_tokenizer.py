"""A test with a budget: the tokenizer's vocabulary takes in every unknown word."""
import os
import random
import pytest

CLEAN = bool(os.environ.get("TWIN"))


class Tokenizer:
    def __init__(self):
        self.vocabulary = {"<unk>": 0}
        self.spans = []

    def encode(self, text):
        ids = []
        for word in text.split():
            if word not in self.vocabulary:
                if CLEAN and len(self.vocabulary) >= 500:
                    word = "<unk>"
                else:
                    self.vocabulary[word] = len(self.vocabulary)
            ids.append(self.vocabulary[word])
        return ids


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer()


def document():
    return " ".join(f"user{random.getrandbits(48):x}" for _ in range(4_000))


@pytest.mark.memory_budget(growth="100 kB")
def test_encoding_keeps_nothing(memory_budget, tokenizer):
    for _ in memory_budget.generations(5):
        assert len(tokenizer.encode(document())) == 4_000


@pytest.mark.memory_budget(growth="100 kB", generations=5)
def test_the_function_alone(tokenizer):
    tokenizer.encode(document())
