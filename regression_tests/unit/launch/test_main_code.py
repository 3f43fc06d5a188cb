"""Which loops of a program are taken for those that run once, by their source."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

from leakguard.launch.main_code import outermost_loops


def lines_of_loops(source):
    return {loop.lineno for loop in outermost_loops(ast.parse(source), set())}


def test_outermost_loops_are_those_that_run_once():
    source = """
for seed in range(3):        # 2
    for inner in range(9): helper()
def helper():
    for x in y: pass
def main():
    while True:              # 7
        helper()
class Trainer:
    def fit(self):
        for epoch in data():  # 11
            self.batch()
    def batch(self):
        for row in rows: pass
def data():
    for line in file: yield line  # 16
def never():
    for x in y: pass
if __name__ == "__main__":
    with open("x") as f:
        launch(main)
        Trainer().fit()
"""
    assert lines_of_loops(source) == {2, 7, 11, 16}


SWEEP = """
def trial(number):
    for step in range(100): pass
def sweep(trials):
    return [trial(number) for number in range(trials)]  # 5
names = [str(number) for number in range(9)]
print(max(sweep(14)))
"""


def test_what_a_thread_runs_is_named_by_nobody():
    source = """
class Actor(threading.Thread):
    def run(self):
        while True: pass
class Player(Actor):
    def run(self):
        for n in range(3): pass
class Model:
    def run(self):
        for n in range(3): pass
actors = Actor(), Player(), Model()
"""
    assert lines_of_loops(source) == {4, 7}


def test_trials_in_a_comprehension_are_the_loop_and_what_a_trial_repeats_is_not():
    assert lines_of_loops(SWEEP) == {5}


def test_a_comprehension_that_prepares_data_is_no_loop_beside_a_loop():
    training = "data = [trial(n) for n in range(9)]\nfor epoch in range(9):\n    trial(epoch)\n"
    assert lines_of_loops(SWEEP + training) == {9}


def test_a_comprehension_that_calls_nothing_of_the_script_is_no_loop():
    assert lines_of_loops("squares = {n: n * n for n in range(9)}\n") == set()


def test_method_that_is_asked_for_as_a_function_is_named_with_its_class(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("class Trainer:\n    def rollout(self): pass\n", "utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "leakguard", "run", "--phase", "rollout", str(script)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )

    assert done.returncode == 2
    assert "for the method write Trainer.rollout" in done.stderr
