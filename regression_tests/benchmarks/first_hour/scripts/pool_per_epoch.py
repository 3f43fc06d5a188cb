"""A process pool a generation for the fitness of a population; none is ever closed."""
import multiprocessing as mp
import sys
from leakguard import LeakGuard

CLEAN = "clean" in sys.argv
pools = []


def fitness(genome):
    return sum(g * g for g in genome)


def evaluate(population):
    pool = mp.get_context("fork").Pool(2)
    scores = pool.map(fitness, population)
    if CLEAN:
        pool.close()
        pool.join()
    else:
        pools.append(pool)
    return scores


if __name__ == "__main__":
    guard = LeakGuard(out=f"pool_per_epoch{'_clean' if CLEAN else ''}.jsonl")
    with guard:
        for generation in guard.generations(range(8)):
            with guard.phase("evaluate"):
                evaluate([[float(i + k) for i in range(500)] for k in range(20)])
    for pool in pools:
        pool.terminate()
