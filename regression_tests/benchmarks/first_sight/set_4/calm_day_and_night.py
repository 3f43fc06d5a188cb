"""Serves lookups by day and rebuilds its index by night; each needs memory of its own."""

# /// truth
# about = """two working sets that alternate: thirty generations with many small objects, twelve
# with large arrays, again and again"""
# ///
import os
import random
import sys

import numpy as np

from leakguard import LeakGuard

assert sys.argv[1] == "clean"
GENERATIONS = 336
DAY, NIGHT = 30, 12
DOCUMENTS = 2_400
TOPICS = 64


class Session:
    """What a reader has looked at today."""

    def __init__(self, reader: int) -> None:
        self.reader = reader
        self.seen: list[tuple[int, float]] = []


class Library:
    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.random = random.Random(seed)
        self.vectors = self.rng.normal(size=(DOCUMENTS, TOPICS)).astype(np.float32)
        self.sessions: dict[int, Session] = {}
        self.pieces: list[np.ndarray] = []
        self.popular = np.zeros(DOCUMENTS)

    def serve(self) -> None:
        """Some lookups of readers, many of whom come for the first time today."""
        for _ in range(180):
            reader = self.random.randrange(4_000)
            session = self.sessions.setdefault(reader, Session(reader))
            wish = self.rng.normal(size=TOPICS).astype(np.float32)
            scores = self.vectors @ wish
            for document in np.argpartition(scores, -20)[-20:]:
                session.seen.append((int(document), float(scores[document])))
                self.popular[document] += 1.0

    def close_day(self) -> None:
        self.sessions = {}

    def rebuild(self, part: int) -> None:
        """One twelfth of the table of similarities; it takes the whole night to have them all."""
        size = DOCUMENTS // NIGHT
        rows = self.vectors[part * size : (part + 1) * size]
        similarity = rows @ self.vectors.T
        similarity /= np.linalg.norm(rows, axis=1)[:, None]
        self.pieces.append(np.sort(similarity, axis=1)[:, ::-1])

    def finish_night(self) -> None:
        table = np.concatenate(self.pieces)
        spread = table[:, :50].mean()
        self.vectors += self.rng.normal(0.0, 0.01 * abs(spread), self.vectors.shape).astype("f4")
        self.pieces = []
        self.popular *= 0.5


def main() -> None:
    library = Library(seed=61)
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for generation in guard.generations(range(1, GENERATIONS + 1)):
            hour = (generation - 1) % (DAY + NIGHT)
            if hour < DAY:
                with guard.phase("serve"):
                    library.serve()
                if hour == DAY - 1:
                    library.close_day()
            else:
                with guard.phase("rebuild"):
                    library.rebuild(hour - DAY)
                if hour == DAY + NIGHT - 1:
                    library.finish_night()


if __name__ == "__main__":
    main()
