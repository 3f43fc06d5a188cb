"""A batch runner that gives each job a log file."""
# /// truth
# about = "a logger by the name of each job, whose file handler is never closed"
# [[leak]]
# type = ["FileHandler", "Logger"]
# holder = "loggerDict"
# phase = "open_log"
# start = 1
# within = 1
# kind = ["instances", "files"]
# ///
import logging
import os
import statistics
import sys
import tempfile

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
GENERATIONS = 140


def open_log(folder, job):
    logger = logging.getLogger(f"jobs.{job}" if LEAK else "jobs.current")
    logger.propagate = False
    logger.setLevel(logging.INFO)
    handler = logging.FileHandler(os.path.join(folder, f"{job % 8}.log"), mode="w")
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(message)s"))
    logger.addHandler(handler)
    return logger, handler


def run_job(logger, job):
    value = job
    samples = []
    for step in range(100_000):
        value = (value * 1103515245 + 12345) % 2**31
        samples.append(value / 2**31)
        if step % 2000 == 0:
            logger.info("step %d: %.4f", step, samples[-1])
    return statistics.fmean(samples)


with tempfile.TemporaryDirectory() as folder:
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for job in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("open_log"):
                logger, handler = open_log(folder, job)
            with guard.phase("run_job"):
                mean = run_job(logger, job)
                logger.info("mean %.5f", mean)
            with guard.phase("finish"):
                if not LEAK:
                    logger.removeHandler(handler)
                    handler.close()
    logging.shutdown()
