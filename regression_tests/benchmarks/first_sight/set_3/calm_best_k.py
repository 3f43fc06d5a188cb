"""An evolution that keeps the best ninety candidates it has ever seen."""

# /// truth
# about = "a hall of fame of the best 90: a newcomer must beat a mark that rises; full at about round 125"
# ///
import heapq
import itertools
import os

import numpy as np

from leakguard import LeakGuard

rng = np.random.default_rng(121)


class Candidate:
    def __init__(self, genome: np.ndarray, score: float) -> None:
        self.genome, self.score = genome, score


class Hall:
    """The best so far; a newcomer must beat a mark that rises."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.best: list[tuple[float, int, Candidate]] = []
        self.numbers = itertools.count()
        self.mark = -1e9

    def offer(self, one: Candidate) -> None:
        if one.score < self.mark:
            return
        heapq.heappush(self.best, (one.score, next(self.numbers), one))
        if len(self.best) > self.room:
            heapq.heappop(self.best)
        self.mark = float(np.quantile([score for score, _, _ in self.best], 0.5))


hall = Hall(room=90)
guard = LeakGuard(out=os.environ["RUN_FILE"])
centre = np.zeros(300)
with guard:
    for number in guard.generations(range(1, 301)):
        with guard.phase("mutate"):
            genomes = centre + rng.standard_normal((60, 300))
        with guard.phase("evaluate"):
            for genome in genomes:
                score = -float(np.abs(np.sin(genome * 3) + genome**2 * 0.1).sum()) + float(np.sort(genome)[-20:].sum())
                hall.offer(Candidate(genome.copy(), score))
        with guard.phase("select"):
            if number % 10 == 0:
                centre = 0.9 * centre + 0.1 * hall.best[-1][2].genome
