"""The tests that are proposed for a finding, and their text."""

from __future__ import annotations

import ast

import pytest

from leakguard.model.finding import Finding
from leakguard.reproducing.program_file import ProgramFile
from leakguard.reproducing.reproduction import LeakingProgram, sketches
from leakguard.reproducing.sketch import Sketch, Turn

GUARDED = """\
import sys
from leakguard import LeakGuard

class Trainer:
    def __init__(self, model):
        self.seen = []

    def fit(self, steps):
        self.seen.append(bytearray(10))

def evaluate(batch, model):
    return bytearray(10)

def refresh():
    return bytearray(10)

def main(mode):
    trainer = Trainer(mode)
    guard = LeakGuard(out="run.jsonl")
    with guard:
        for generation in guard.generations(range(9)):
            with guard.phase("fit"):
                trainer.fit(3)
                refresh()

if __name__ == "__main__":
    main(sys.argv[1])
"""
PLAIN = """\
import time
import zlib

def collect(number):
    rows[number] = bytearray(100)

rows = {}
count = 0
for number in range(3, 60):
    count += 1
    collect(number)
    if number > 50:
        break
print("done")
"""


def sketched(
    text: str, stack: tuple[str, ...], held_by: str, *arguments: str
) -> list[Sketch | str]:
    file = ProgramFile.parsed("train.py", {"train.py": text})
    assert file is not None
    program = LeakingProgram({"train.py": text}, {"train.py": file}, "train.py", arguments)
    finding = Finding("f", "instances", "leak", "growing", "", created_stack=stack, held_by=held_by)
    return list(sketches(program, finding, "."))


def written(sketch: Sketch | str) -> str:
    assert isinstance(sketch, Sketch)
    return sketch.text("test_it", "# a comment")


def test_function_with_arguments_needs_data_of_the_run():
    (said, *_) = sketched(GUARDED, ("train.py:12 in evaluate",), "")
    assert said == "evaluate() needs arguments: batch, model"


def test_method_of_a_class_that_needs_arguments_is_not_called():
    said = sketched(GUARDED, ("train.py:9 in fit",), "")[0]
    assert said == "Trainer.fit() needs arguments: steps"


def test_function_without_arguments_is_called_by_a_test_that_the_mark_repeats():
    assert written(sketched(GUARDED, ("train.py:15 in refresh",), "")[0]) == (
        "# a comment\nimport pytest\nfrom train import refresh\n\n\n"
        "@pytest.mark.memory_budget\ndef test_it():\n    refresh()\n"
    )


def test_loop_of_an_importable_script_follows_the_setup_of_its_function_without_the_guard():
    stack = ("train.py:9 in fit", "train.py:23 in main", "train.py:27")
    _, loop, last = sketched(GUARDED, stack, "__main__.Trainer.seen", "leak")
    assert last == "main() needs arguments: mode"
    assert written(loop) == (
        "# a comment\nimport pytest\nimport sys\n\nsys.argv[1:] = ['leak']\n"
        "from train import Trainer, refresh\n\n\n"
        "@pytest.mark.memory_budget\ndef test_it(memory_budget):\n"
        "    mode = sys.argv[1]\n    trainer = Trainer(mode)\n"
        "    for _ in memory_budget.generations():\n"
        "        trainer.fit(3)\n        refresh()\n"
    )


def test_script_that_an_import_would_run_is_copied_as_far_as_its_loop_needs_it():
    loop = sketched(PLAIN, ("train.py:5 in collect", "train.py:11"), "__main__.rows[*]")[-1]
    text = written(loop)
    assert "import train" not in text and "zlib" not in text and "done" not in text
    assert "def collect(number):" in text and "rows = {}" in text
    assert "    global count\n    turns = itertools.count(3)\n" in text
    # A turn that ends its loop stays one of a loop.
    assert "for number in itertools.islice(turns, 1):" in text


def test_what_names_the_holder_is_never_left_out():
    turn = Turn(tuple(ast.parse("rows.clear()\nprint(rows)\nx = 1").body))
    sketch = Sketch("", (), (), turn, kept=frozenset({"rows"}))
    least = sketch.without(set(range(sketch.size)))
    assert ast.unparse(ast.Module(list(least.turn.body), [])) == "rows.clear()"


@pytest.mark.parametrize(
    ("body", "unknown"),
    [("x = y", {"y"}), ("def f(a):\n    return a + len(b)", {"b"}), ("print([c for c in ()])", ())],
)
def test_name_that_nothing_defines_is_known_before_a_run(body, unknown):
    sketch = Sketch("", (), (), Turn(tuple(ast.parse(body).body)))
    assert sketch.unknown == set(unknown)


def test_module_of_a_package_is_imported_from_the_folder_above_it():
    texts = {"src/shop/__init__.py": "", "src/shop/cart.py": "def fill():\n    return []\n"}
    file = ProgramFile.parsed("src/shop/cart.py", texts)
    assert file is not None
    program = LeakingProgram(texts, {"src/shop/cart.py": file}, None, ())
    finding = Finding("f", "instances", "leak", "growing", "", created_at="shop/cart.py:2 in fill")
    text = written(next(iter(sketches(program, finding, "tests"))))
    assert "sys.path.insert(0, str(Path(__file__).parent / '../src'))" in text
    assert "from shop.cart import fill" in text


def test_loop_that_hands_the_guard_on_lacks_it():
    text = "from leakguard import LeakGuard\nguard = LeakGuard()\nenv = wrap(guard)\n" \
        "for x in range(9):\n    env.append(x)\n"  # fmt: skip
    (said,) = sketched(text, ("train.py:5",), "__main__.env")
    assert said == "a turn of the loop at train.py:4 needs guard, wrap"
