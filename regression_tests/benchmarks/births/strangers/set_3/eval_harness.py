"""Nightly evaluation of a retrieval model: prompts, scores, a log per round and a table of predictions."""
import collections
import functools
import hashlib
import io
import logging
import random
import sqlite3
import sys

FIXED = sys.argv[1] == "fixed"
ROUNDS, PROMPTS = 48, 110
WORDS = [hashlib.sha1(str(i).encode()).hexdigest()[:6] for i in range(900)]
logger = logging.getLogger("harness")
logger.setLevel(logging.DEBUG)
logger.propagate = False


class Predictions:
    def __init__(self):
        self.database = sqlite3.connect(":memory:")
        self.cursor = self.database.cursor()
        self.cursor.execute("create table prediction (round integer, prompt text, answer text, score real)")
        self.cursor.execute("create index by_round on prediction (round)")

    def store(self, number, rows):
        self.cursor.executemany("insert into prediction values (?, ?, ?, ?)",
                                [(number, prompt, answer, score) for prompt, answer, score in rows])
        if FIXED:
            self.cursor.execute("delete from prediction where round < ?", (number - 1,))
        self.database.commit()

    def summary(self, number):
        self.cursor.execute("select count(*), avg(score) from prediction where round = ?", (number,))
        return self.cursor.fetchone()


class RoundLog(logging.Handler):
    """Collects what was logged in one round, for the page of that round."""

    def __init__(self, number):
        super().__init__()
        self.number = number
        self.text = io.StringIO()
        self.addFilter(lambda record: record.round == number)

    def emit(self, record):
        self.text.write(f"{record.levelname} {record.getMessage()}\n")


def split(prompt):
    return frozenset(prompt[i:i + 3] for i in range(len(prompt) - 2))


def tokens(prompt, _memo={}):
    if prompt not in _memo:
        _memo[prompt] = sorted({word[:4] for word in prompt.split()})
    return _memo[prompt]


@functools.lru_cache(maxsize=200)
def tokens_bounded(prompt):
    return sorted({word[:4] for word in prompt.split()})


class Retriever:
    def __init__(self, rng):
        self.documents = [" ".join(rng.choices(WORDS, k=30)) for _ in range(100)]
        self.grams = [split(document) for document in self.documents]

    def answer(self, prompt):
        wanted = split(prompt)
        scores = [len(wanted & grams) / len(wanted) for grams in self.grams]
        best = max(range(len(scores)), key=scores.__getitem__)
        return self.documents[best], scores[best]


def prompts(rng, retriever, number):
    for position in range(PROMPTS):
        document = retriever.documents[position % 100].split()
        words = rng.sample(document, 12) + rng.choices(WORDS, k=20)
        yield f"round {number}: which document has " + " ".join(words) + "?"


def evaluate(number, rng, retriever):
    rows = []
    for prompt in prompts(rng, retriever, number):
        answer, score = retriever.answer(prompt)
        known = tokens_bounded(prompt) if FIXED else tokens(prompt)
        overlap = sum(token in answer for token in known) / len(known)
        logger.debug("prompt %s -> answer %s, overlap %.3f, score %.3f, tokens %s", prompt, answer, overlap,
                     score, known, extra={"round": number})
        rows.append((prompt, answer, 0.5 * (score + overlap)))
    return rows


def run_round(number, rng, retriever, predictions):
    page = RoundLog(number)
    logger.addHandler(page)
    predictions.store(number, evaluate(number, rng, retriever))
    count, mean = predictions.summary(number)
    if FIXED:
        logger.removeHandler(page)
        page.close()
    return count, mean, len(page.text.getvalue())


def main():
    rng = random.Random(29)
    retriever, predictions = Retriever(rng), Predictions()
    recent = collections.deque(maxlen=5)
    for number in range(ROUNDS):
        count, mean, length = run_round(number, rng, retriever, predictions)
        recent.append(mean)
    print(f"{count} prompts, score {sum(recent) / len(recent):.3f}, page of {length} characters")


main()
