"""A program under ``leakguard run`` prints, ends and sees itself as it does without."""

from __future__ import annotations

import compileall
import signal
import zipapp
import zipfile
from textwrap import dedent

import pytest

SEES = """
    '''A docstring.'''
    import os, sys
    import __main__
    print(list(globals()), __name__, __doc__, __package__, __builtins__)
    print([globals().get(name) for name in ("__file__", "__cached__")])
    print(__spec__ and (__spec__.name, __spec__.origin, __spec__.cached), type(__loader__))
    print(vars(__main__) is globals())
    print(sys.path, sys.argv, sys.orig_argv, sys.flags, sorted(os.environ.items()))
"""


def same(plain, watched):
    assert watched.out == plain.out
    assert watched.status == plain.status


def archive(script, folder, name):
    zipapp.create_archive(script.folder / folder, script.folder / name)


def test_script_sees_the_same_names_paths_and_arguments(script):
    script.write(SEES)
    arguments = ("./script.py", "--epochs", "3", "-m", "--", "x y")
    same(script.plain(*arguments), script.watched(*arguments))


def test_module_sees_the_same_names_paths_and_arguments(script):
    script.write(SEES, "package/inner.py").write("", "package/__init__.py")
    arguments = ("-m", "package.inner", "-o", "3")
    same(script.plain(*arguments), script.watched(*arguments))


def test_package_is_run_by_its_main_module(script):
    script.write(SEES, "package/__main__.py").write("", "package/__init__.py")
    same(script.plain("-m", "package"), script.watched("-m", "package"))


@pytest.mark.parametrize("place", ["app", "./app/", "app.pyz", "absolute"])
def test_folder_or_archive_sees_the_same_names_paths_and_arguments(script, place):
    script.write("import beside\n" + dedent(SEES) + "print(beside)\n", "app/__main__.py")
    script.write("NAME = 'neighbour'", "app/beside.py")
    archive(script, "app", "app.pyz")
    place = str(script.folder / "app.pyz") if place == "absolute" else place
    same(script.plain(place, "-m", "3"), script.watched(place, "-m", "3"))


def test_compiled_archive_runs_without_its_source(script):
    script.write("import sys\nprint(sys.argv, __spec__.origin)", "plain/__main__.py")
    compileall.compile_dir(script.folder / "plain", legacy=True, quiet=1)
    with zipfile.ZipFile(script.folder / "app.pyz", "w") as app:
        app.write(script.folder / "plain/__main__.pyc", "__main__.pyc")
    plain, watched = script.plain("app.pyz", "x"), script.watched("app.pyz", "x")
    same(plain, watched)
    assert plain.status == 0


def test_command_sees_the_same_names_paths_and_arguments(script):
    arguments = ("-c", dedent(SEES), "-o", "x y")
    same(script.plain(*arguments), script.watched(*arguments))


@pytest.mark.parametrize("form", ["path", "module", "command"])
def test_switched_off_it_is_the_program_alone(monkeypatch, script, form):
    source = SEES + "    print(sorted(sys.modules), input())\n    for _ in range(30): sys.path"
    script.write(source)
    script.typed = b"asked"
    forms = {"path": ["script.py"], "module": ["-m", "script"], "command": ["-c", dedent(source)]}
    arguments = [*forms[form], "-m", "x y"]
    monkeypatch.setenv("LEAKGUARD", "off")
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)  # it becomes an option, -B
    plain, watched = script.plain(*arguments), script.watched(*arguments)
    same(plain, watched)
    assert (watched.status, watched.err, watched.file.exists()) == (0, "", False)
    assert b"'leakguard" not in watched.out


def test_standard_input_sees_the_same_names_paths_and_arguments(script):
    script.typed = f"{dedent(SEES)}\nprint('\xe4', input())".encode()
    plain, watched = script.plain("-", "x"), script.watched("-", "x")
    same(plain, watched)
    assert plain.status == 1  # nothing is left to read
    assert watched.err.startswith(plain.err)


@pytest.mark.parametrize("last", ["1 / 0", "raise SystemExit(3)", "1 +"])
def test_command_ends_as_without(script, last):
    text = f"print(1)\n{last}"
    plain, watched = script.plain("-c", text), script.watched("-c", text)
    same(plain, watched)
    assert watched.err.startswith(plain.err)


@pytest.mark.parametrize("place", ["app", "app.pyz"])
def test_pool_of_a_folder_or_an_archive_finds_its_functions(script, place):
    script.write(
        """
        import multiprocessing
        def work(x): return 2 * x, __name__
        if __name__ == "__main__":
            with multiprocessing.get_context("fork").Pool(2) as pool:
                print(pool.map(work, range(3)))
        """,
        "app/__main__.py",
    )
    archive(script, "app", "app.pyz")
    plain, watched = script.plain(place), script.watched(place)
    same(plain, watched)
    assert plain.out.startswith(b"[(0,")


def test_module_that_is_missing_is_said_as_by_the_interpreter(script):
    plain, watched = script.plain("-m", "no_such"), script.watched("-m", "no_such")
    assert plain.err.strip() in watched.err
    same(plain, watched)


# A process that a shell began in the background ignores interrupts, and so do its children.
_INTERRUPTED = (
    "import os, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "os.kill(os.getpid(), signal.SIGINT); time.sleep(9)"
)


@pytest.mark.parametrize(
    ("last", "status"),
    [
        ("pass", 0),
        ("raise SystemExit(3)", 3),
        ("raise SystemExit('words')", 1),
        ("1 / 0", 1),
        ("import os; os._exit(7)", 7),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        (_INTERRUPTED, -signal.SIGINT),
    ],
)
def test_exit_status_and_bytes_are_the_same(script, last, status):
    script.write(f"""
        import sys, time
        for number in range(6):
            sys.stdout.buffer.write(bytes([number, 200 + number, 10]))
            time.sleep(0.03)
        sys.stdout.flush()
        {last}
    """)
    plain, watched = script.plain(), script.watched()
    same(plain, watched)
    assert watched.status == status
    assert watched.err.startswith(plain.err)
    assert len(watched.run.generations) == 5  # the first round tells how long one is
    if "_exit" not in last:
        assert watched.run.finished
        assert "leakguard: " in watched.err


@pytest.mark.parametrize(
    "wrong",
    ["1 +", "raise RuntimeError from KeyError('why')", "for x in 3: pass", "call()", "call(1)"],
)
def test_traceback_has_no_frame_of_leakguard(script, wrong):
    body = "try:\n    {}['x']\nexcept KeyError as error:\n    raise ValueError from error\n"
    indented = body.replace("\n", "\n    ")
    script.folder.joinpath("script.py").write_text(
        f"def call(*a):\n    {indented}\n\nfor _ in [1]:\n    pass\n{wrong}\n"
    )
    plain, watched = script.plain(), script.watched("--phase", "call", "script.py")
    assert watched.err.startswith(plain.err)
    assert plain.err.count("File") > 0
    same(plain, watched)


def test_classes_of_main_can_be_pickled_and_read_back(script):
    script.write("""
        import pickle
        class Point:
            def __init__(self, x): self.x = x
        def double(x): return 2 * x
        text = pickle.dumps([Point(3), double])
        point, function = pickle.loads(text)
        print(text, point.x, function is double, Point.__module__, Point.__qualname__)
    """)
    same(script.plain(), script.watched("--phase", "double", "script.py"))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pools_of_processes_work(script, method):
    script.write(f"""
        import multiprocessing
        class Task:
            def __init__(self, x): self.x = x
        def work(task): return task.x * 2, __name__
        if __name__ == "__main__":
            multiprocessing.set_start_method({method!r})
            with multiprocessing.Pool(2) as pool:
                for round in range(4):
                    print(pool.map(work, [Task(x) for x in range(3)]))
    """)
    plain, watched = script.plain(), script.watched("--phase", "work", "script.py")
    same(plain, watched)
    assert plain.status == 0


def test_loops_behave_as_without(script):
    script.write("""
        import threading
        seen = []
        for index, item in enumerate(x for x in range(100_000)):
            if index % 2: continue
            if item > 90_000: break
            seen.append(item)
        else:
            seen.append("else")
        for item in seen[:0]: pass
        else: print("empty loop has its else")
        numbers = [1, 2, 3]
        for number in numbers:  # a list that grows while it is looped over
            if len(numbers) < 50: numbers.append(number)
        count = 0
        while count < 70_000:
            count += 1
            if count == 5: continue
        else: print("while has its else")
        def race():
            n = 0
            while n < 50_000: n += 1
            counted.append(n)
        counted = []
        threads = [threading.Thread(target=race) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        def items():
            yield 1
            raise StopAsyncIteration("mine")
        try:
            for item in items(): print(item)
        except StopAsyncIteration as error: print(repr(error))
        print(len(seen), seen[-1], numbers, count, counted)
    """)
    same(script.plain(), script.watched())


def test_while_loops_end_as_without(script):
    script.write("""
        import asyncio, sys
        names, left = sorted(globals()), 3
        while left := left - 1: print(left, sorted(globals()) == [*names, "left", "names"])
        else: print("else")
        while True:
            left += 1
            if left < 3: continue
            break
        else: print("never")
        def returns():
            while True:
                try: return sorted(locals())
                finally: print("finally")
        async def waits():
            while await asyncio.sleep(0, left > 0): raise KeyError(left)
        def fails():
            while 1 / (left - 3): pass
        print(returns())
        for run in (lambda: asyncio.run(waits()), fails):
            try: run()
            except Exception as error:
                lines = []
                at = error.__traceback__
                while at is not None: lines.append(at.tb_lineno); at = at.tb_next
                print(repr(error), lines[:1], lines[-1:])
    """)
    same(script.plain(), script.watched())


def test_modules_of_the_program_are_as_without(script):
    script.write("from . import deep", "own/__init__.py").write("import sys, runs", "own/deep.py")
    script.write("def broken(:", "wrong.py").write("\xe4 = 1", "unicode.py")
    script.write(
        """
        def main(count):
            seen = []
            while len(seen) < count: seen.append(len(seen))
            for number in seen: yield number
        def fails():
            for number in (1, 0): print(1 / number)
    """,
        "runs.py",
    )
    script.write("""
        import importlib, inspect, sys
        import own, runs, unicode
        print(own.deep.runs is runs, runs.__spec__.name, type(runs.__loader__), len(vars(unicode)))
        print(sorted(vars(runs)), runs.__file__, vars(runs.__loader__), inspect.getsource(runs))
        print(list(runs.main(5)), list(importlib.reload(runs).main(3)))
        for wrong in (lambda: importlib.import_module("wrong"), runs.fails, lambda: own.absent):
            try: wrong()
            except Exception as error:
                at = error.__traceback__
                while at.tb_next is not None: at = at.tb_next
                print(repr(error), at.tb_lineno)
        try: import own.absent
        except ImportError as error: print(repr(error))
    """)
    same(script.plain(), script.watched())


def test_locals_that_were_taken_before_stay_as_they_were(script):
    script.write("""
        import threading, time
        def train(steps, lr=0.1):
            config = locals()
            loader = threading.Thread(target=load, args=(steps,))
            loader.start()
            for step in range(steps): time.sleep(0.001)
            loader.join()
            return sorted(config), [len(taken) for taken in loads]
        def load(steps):
            loads.append(locals())
            number = 0
            while number < steps: number += 1; time.sleep(0.002)
        loads = []
        print(train(20))
    """)
    same(script.plain(), script.watched())


def test_item_of_a_loop_is_let_go_as_without(script):
    script.write("""
        import weakref
        class Item: pass
        alive = []
        for item in (Item() for _ in range(2000)):
            alive.append(weakref.ref(item))
            del item
            if len(alive) > 1: print(sum(ref() is not None for ref in alive[:-1]))
    """)
    same(script.plain(), script.watched())


def test_threads_go_on_after_the_script_as_without(script):
    script.write("""
        import atexit, threading, time
        atexit.register(print, "bye")
        def late():
            time.sleep(0.2)
            print("late")
        threading.Thread(target=late).start()
        print("main is over")
    """)
    same(script.plain(), script.watched())


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such.py"],
        ["."],
        ["-o", "no-such/../script.py/x.jsonl", "script.py"],
        ["--phase", "a b", "script.py"],
        ["--phase", "nowhere", "script.py"],
        ["--every", "0", "script.py"],
        ["--log", "no-such/log", "script.py"],
    ],
)
def test_what_cannot_be_used_is_one_line_before_the_script_begins(script, arguments):
    script.write("print('began')")
    ended = script.watched(*arguments)
    assert (ended.out, ended.status) == (b"", 2)
    assert ended.err.startswith("leakguard: ")
    assert ended.err.count("\n") == 1
