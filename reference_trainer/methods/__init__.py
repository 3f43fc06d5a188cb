"""The methods by which a population comes to its next genomes, one a file.

A new one is a file with a class like those, a line in `METHODS`, and in `METHOD_SETTINGS` what it
needs instead of the defaults.
"""

from __future__ import annotations

from reference_trainer.config import Config
from reference_trainer.methods.ars import ARS
from reference_trainer.methods.cma_es import CMAES
from reference_trainer.methods.erl import ERL
from reference_trainer.methods.method import Method
from reference_trainer.methods.pderl import PDERL
from reference_trainer.population import Population
from reference_trainer.replay_buffer import ReplayBuffer

METHODS: dict[str, type[Method]] = {"erl": ERL, "pderl": PDERL, "ars": ARS, "cma": CMAES}


def make_method(config: Config, population: Population, buffer: ReplayBuffer) -> Method:
    """The method that the configuration names."""
    return METHODS[config.method](config, population, buffer)
