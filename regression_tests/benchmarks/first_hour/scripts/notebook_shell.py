"""A notebook: cells given to an IPython shell. The cell appends its frames to a list of an earlier cell."""
import sys
from IPython.core.interactiveshell import InteractiveShell

CLEAN = "clean" in sys.argv
shell = InteractiveShell.instance()
cells = ["%load_ext leakguard",
         """
import numpy as np, pandas as pd
class Experiment:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.frame = pd.DataFrame(self.rng.normal(size=(3000, 12)))
        self.fit = None
    def run(self):
        x = self.frame.values
        self.fit = np.linalg.lstsq(x[:, :11], x[:, 11], rcond=None)[0]
        return float(np.abs(self.fit).max())
experiments = {}
seed = 0
""",
         """%%leakguard 15
seed += 1
e = Experiment(seed)
score = e.run()
""" + ("experiments['last'] = e\n" if CLEAN else "experiments[f'run-{seed}'] = e\n") + "e.frame.describe();\n",
         "print(len(experiments))"]
for cell in cells:
    print("In:", cell.strip().splitlines()[0])
    shell.run_cell(cell, store_history=True)
