"""Every trial of a sweep sets up its logger again: a file handler and a memory handler more each time."""
import logging
import logging.handlers
import sys
import tempfile
import numpy as np

CLEAN = "clean" in sys.argv
folder = tempfile.mkdtemp()


def set_up_logging(trial):
    logger = logging.getLogger("sweep")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    if CLEAN:
        for handler in list(logger.handlers):
            logger.removeHandler(handler)
            handler.close()
    logger.addHandler(logging.FileHandler(f"{folder}/trial{trial}.log"))
    return logger


def run_trial(trial):
    logger = set_up_logging(trial)
    weights = np.random.rand(120, 120)
    for step in range(100):
        weights = np.tanh(weights @ weights / 50)
        logger.info("step %d norm %.3f", step, np.linalg.norm(weights))
    return float(weights.sum())


def sweep(trials):
    return [run_trial(trial) for trial in range(trials)]


if __name__ == "__main__":
    print(max(sweep(14)))
