"""A sweep whose trials are described by Python files, which are loaded as modules."""

# /// truth
# about = "each third trial imports a configuration under a name of its own, and sys.modules keeps it"
# [[leak]]
# type = ["module", "Settings", "type", "ModuleSpec", "SourceFileLoader", "dict"]
# holder = ["modules"]
# phase = "configure"
# start = 3
# within = 3
# ///
import importlib.util
import os
import random
import sys
import tempfile

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
random.seed(23)
rng = np.random.default_rng(23)
TEMPLATE = """
NAME = {name!r}
TABLE = {{f"layer{{k}}": [k * 0.5, k * {rate}] for k in range(60)}}

class Settings:
    rate = {rate}
    def width(self, layer):
        return int(8 + TABLE[f"layer{{layer}}"][0])
"""


def load(folder: str, number: int):
    name = f"trial_{number}"
    path = os.path.join(folder, name + ".py")
    with open(path, "w") as file:
        file.write(TEMPLATE.format(name=name, rate=random.random()))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # the classes inside should be picklable
    spec.loader.exec_module(module)
    os.remove(path)
    if not LEAK:
        del sys.modules[name]
    return module.Settings()


def trial(settings) -> float:
    total = 0.0
    for layer in range(12):
        matrix = rng.standard_normal((100, 100 + settings.width(layer)))
        total += settings.rate * float(np.linalg.norm(matrix @ matrix.T))
    return total


guard = LeakGuard(out=os.environ["RUN_FILE"])
settings = None
sys.dont_write_bytecode = True
with tempfile.TemporaryDirectory() as folder, guard:
    settings = load(folder, 0)
    for number in guard.generations(range(1, 301)):
        with guard.phase("configure"):
            if number % 3 == 0:
                settings = load(folder, number)
        with guard.phase("trial"):
            trial(settings)
