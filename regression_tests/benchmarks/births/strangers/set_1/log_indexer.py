"""Indexes a stream of log lines and keeps a running audit."""
import random
import sys
from collections import Counter, defaultdict

FIXED = sys.argv[1] == "fixed"
random.seed(77)
WORDS = ["".join(random.choices("abcdefghij", k=6)) for _ in range(150)]


def chunk(number):
    for line in range(400):
        yield number * 400 + line, " ".join(random.choices(WORDS, k=9))


class Index:
    def __init__(self):
        self.postings = {word: [] for word in WORDS}
        self.last = 0

    def add(self, line_number, line):
        for position, word in enumerate(line.split()):
            self.postings[word].append((line_number, position))
        self.last = line_number

    def prune(self, keep=2000):
        if FIXED:
            for entries in self.postings.values():
                entries[:] = [entry for entry in entries if entry[0] > self.last - keep]


def closest_words(index):
    lines = {word: {line for line, _ in entries[-100:]} for word, entries in index.postings.items()}
    pairs = ((len(lines[a] & lines[b]), a, b) for a in WORDS for b in WORDS if a < b)
    return max(pairs)


class Audit:
    def __init__(self):
        self.text = ""
        self.counts = Counter()

    def note(self, number, index):
        top = sorted((len(entries), word) for word, entries in index.postings.items())[-120:]
        self.counts.update(word for _, word in top)
        line = f"{number}: " + ", ".join(f"{word} appears {count} times" for count, word in top) + "\n"
        self.text = line if FIXED else self.text + line


def pages(lines, size=50):
    """The lines, page by page."""
    text = [line for _, line in lines]
    for start in range(0, len(text), size):
        yield text[start:start + size]


class Browser:
    def __init__(self):
        self.open_pages = defaultdict(list)

    def first_page(self, user, lines):
        view = pages(lines)
        page = next(view)
        if FIXED:
            self.open_pages[user] = []
        self.open_pages[user].append(view)
        return max(len(line) for line in page)


def main():
    index, audit, browser = Index(), Audit(), Browser()
    for number in range(150):
        lines = list(chunk(number))
        for line_number, line in lines:
            index.add(line_number, line)
        index.prune()
        audit.note(number, index)
        closest = closest_words(index)
        width = browser.first_page(f"user-{number % 4}", lines)
    print("words", len(index.postings), "audit", len(audit.counts), "width", width, "closest", closest)


main()
