"""What ``leakguard run`` finds in scripts that nobody prepared: generations, phases, leaks."""

from __future__ import annotations

import importlib.util
import re
import socket
import zipapp
from textwrap import dedent

import pytest

from leakguard import load, render
from leakguard.cli.report import read_report
from leakguard.live.call import socket_path

LOOP = """
    import time
    class Rollout:
        def __init__(self): self.rewards = [float(step) for step in range(20_000)]
    best = []
    def evaluate():
        rollout = Rollout()
        {keep}
    def main():
        for generation in range(12):
            evaluate()
            time.sleep(0.03)
    if __name__ == "__main__":
        main()
"""


# Of 12 that one look finds, one was made before the first generation: births tell that to a tenth.
ONE = r"1(\.1)?"

needs_credentials = pytest.mark.skipif(
    not hasattr(socket, "SO_PEERCRED"), reason="the system does not name a socket's other end"
)


def found(ended):
    return [(finding.type, finding.held_by) for finding in ended.report.findings]


def test_planted_leak_is_named_at_the_end(script):
    script.write(LOOP.format(keep="best.append(rollout)"))
    ended = script.watched("--phase", "evaluate", "script.py")
    assert re.search(rf"LEAK: In evaluate, since generation 1, {ONE} more Rollout", ended.err)
    assert "Held by: __main__.best[*]" in ended.err
    assert "Created at: script.py:7 in evaluate" in ended.err
    assert "Kept at: script.py:8 in evaluate" in ended.err
    assert "a generation is 1 round of the loop at script.py:10" in ended.err
    assert found(ended) == [("__main__.Rollout", "__main__.best[*]")]
    assert ended.run.info.generation_means == "1 round of the loop at script.py:10"
    assert "1 round of the loop" in render(ended.report, "markdown")
    assert ended.run.info.command.endswith(" script.py")


def test_clean_twin_stays_silent(script):
    script.write(LOOP.format(keep="best[:] = [rollout]"))
    ended = script.watched("--phase", "evaluate", "script.py")
    assert ended.report.verdict == "stable"
    assert len(ended.run.generations) == 11


def test_loop_may_be_in_a_module_that_lies_beside_the_script(script):
    library = LOOP.replace('if __name__ == "__main__":\n        main()', "pass")
    script.write("", "lib/__init__.py")
    script.write(library.format(keep="best.append(rollout)"), "lib/search.py")
    script.write("from lib.search import main\nmain()\n")
    ended = script.watched()
    assert re.search(rf"{ONE} more Rollout per generation, held by lib\.search\.best", ended.err)
    assert "a generation is 1 round of the loop at search.py:10" in ended.err


@pytest.mark.parametrize("keep", ["best.append(rollout)", "best[:] = [rollout]"])
@pytest.mark.parametrize("place", ["app", "app.pyz", "-"])
def test_loop_is_found_in_a_folder_an_archive_and_standard_input(script, place, keep):
    source = dedent(LOOP.format(keep=keep))
    script.write(source, "app/__main__.py").typed = source.encode()
    zipapp.create_archive(script.folder / "app", script.folder / "app.pyz")
    ended = script.watched(place)
    name = "<stdin>" if place == "-" else "__main__.py"
    assert f"a generation is 1 round of the loop at {name}:10" in ended.err
    kept = [("__main__.Rollout", "__main__.best[*]")]
    assert found(ended) == (kept if "append" in keep else [])
    assert [f.created_at for f in ended.report.findings] in ([], [f"{name}:7 in evaluate"])


@pytest.mark.parametrize("keep", ["best.append(rollout)", "best[:] = [rollout]"])
def test_line_of_a_command_is_the_programs(script, keep):
    ended = script.watched("-c", dedent(LOOP.format(keep=keep)))
    kept = [("__main__.Rollout", "__main__.best[*]", "<string>:7 in evaluate")]
    told = [(f.type, f.held_by, f.created_at) for f in ended.report.findings]
    assert told == (kept if "append" in keep else [])


def test_loop_may_be_in_a_module_of_an_archive(script):
    library = LOOP.replace('if __name__ == "__main__":\n        main()', "pass")
    script.write("", "app/lib/__init__.py")
    script.write(library.format(keep="best.append(rollout)"), "app/lib/search.py")
    script.write("import lib\nfrom lib.search import main\nmain()\n", "app/__main__.py")
    zipapp.create_archive(script.folder / "app", script.folder / "app.pyz")
    ended = script.watched("app.pyz")
    assert re.search(rf"{ONE} more Rollout per generation, held by lib\.search\.best", ended.err)
    assert "a generation is 1 round of the loop at search.py:10" in ended.err


FED = """
    import queue, threading
    class Batch:
        def __init__(self): self.numbers = [float(n) for n in range(5_000)]
    batches, done, kept = queue.Queue(8), threading.Event(), []
    def load():
        while not done.is_set():
            try: batches.put([0.0] * 1_000, timeout=0.01)
            except queue.Full: pass
    def train():
        for step in range(200):  # long enough to be chosen where loaders came first by chance
            for _ in range(3): batches.get()
            batch = Batch()
            {keep}
            done.wait(0.01)
    loaders = [threading.Thread(target=load) for _ in range(3)]
    for loader in loaders: loader.start()
    {train}
    done.set()
    for loader in loaders: loader.join()
"""
IN_THREAD = "trainer = threading.Thread(target=train); trainer.start(); trainer.join()"


@pytest.mark.parametrize("train", ["train()", IN_THREAD])
def test_leak_is_found_beside_threads_that_load(script, train):
    script.write(FED.format(keep="kept.append(batch)", train=train))
    ended = script.watched()
    assert found(ended) == [("__main__.Batch", "__main__.kept[*]")], ended.err


@pytest.mark.parametrize("train", ["train()", IN_THREAD])
def test_loop_that_trains_is_counted_and_not_those_of_threads_that_load(script, train):
    script.write(FED.format(keep="kept[:] = [batch]", train=train))
    ended = script.watched()
    assert ended.report.verdict == "stable"
    assert "1 round of the loop at script.py:11" in ended.err


PREPARED = """
    import time
    class Batch:
        def __init__(self): self.numbers = [float(n) for n in range(5_000)]
    class Trainer:
        def load(self):
            self.table = {{}}
            for shard in range(15):
                self.table.update({{(shard, n): [float(n)] * 10 for n in range(500)}})
                time.sleep(0.02)
        def train(self):
            self.kept = []
            for step in range(200):
                batch = Batch()
                {keep}
                time.sleep(0.02)
    trainer = Trainer()
    trainer.load()
    trainer.train()
"""


def test_loop_that_loads_before_a_longer_one_is_no_part_of_its_run(script):
    script.write(PREPARED.format(keep="self.kept.append(batch)"))
    ended = script.watched()
    assert found(ended) == [("__main__.Batch", "__main__.trainer.kept[*]")], ended.err
    assert ended.run.info.generation_means == "1 round of the loop at script.py:13"
    assert "before that came 14 generations of 1 round of the loop at script.py:8" in (ended.err)


def test_data_that_was_loaded_before_a_longer_loop_is_no_leak(script):
    script.write(PREPARED.format(keep="self.kept[:] = [batch]"))
    ended = script.watched()
    assert ended.report.verdict == "stable", ended.err


TRAINED_THEN_EVALUATED = """
    import time
    kept = []
    def train():
        for step in range(60):
            kept.append(bytearray(100_000))
            time.sleep(0.03)
    def evaluate():
        for step in range(80):
            sum(range(1000))
            time.sleep(0.03)
    train()
    evaluate()
"""


def test_what_a_loop_left_before_a_longer_one_is_told_with_the_report_of_the_last(script):
    script.write(TRAINED_THEN_EVALUATED)
    ended = script.watched()
    assert ended.report.verdict == "stable", ended.err
    told = " ".join(ended.err.split())
    assert "at script.py:5, in which since generation 1, 1 more bytearray" in told
    (left,) = (one for one in read_report(ended.file).limits if "__main__.kept[*]" in one)
    assert left.startswith("what grew before, in ")


def test_watched_classes_are_counted(script):
    script.write(LOOP.format(keep="best[:] = [rollout]"))
    ended = script.watched("--watch", "__main__:Rollout", "--watch", "nowhere:X", "script.py")
    assert "__main__.Rollout" in ended.run.snapshots[-1].watched
    assert "--watch nowhere:X: there is no such class" in ended.err


def test_phases_are_found_wherever_they_are_defined(script):
    script.write(
        """
        import asyncio
        class Trainer:
            def act(self): return 1
            @classmethod
            def build(cls): return cls()
            @staticmethod
            def check(x): return x
            async def fetch(self): return 2
            def stream(self): yield 3
        class Child(Trainer): pass
        def step(): return 4
        """,
        "parts/trainer.py",
    ).write("", "parts/__init__.py").write("""
        import asyncio
        def loop():
            from parts.trainer import Child, step  # imported late, by name
            for _ in range(5):
                child = Child.build()
                print(child.act(), Child.check(5), asyncio.run(child.fetch()))
                print(*child.stream(), step())
        class Local:
            @property
            def value(self): return 6
            def method(self): return 7
        loop()
        print(Local().value, Local().method())
    """)
    names = [
        "Trainer.act",
        "Trainer.build",
        "Trainer.check",
        "Trainer.fetch",
        "Trainer.stream",
        "step",
    ]
    phases = [word for name in names for word in ("--phase", f"parts.trainer:{name}")]
    plain = script.plain()
    ended = script.watched(*phases, "--phase", "Local.method", "--phase", "Local.value",
                           "--every", "1", "--generation", "parts.trainer:step",
                           "script.py")  # fmt: skip
    assert (ended.out, ended.status) == (plain.out, 0)
    assert set(ended.run.phases) == {*names, "Local.method"}
    assert "Local.value is no function but a property" in ended.err


def test_what_is_never_imported_or_missing_is_said(script):
    script.write("import json\nprint(1)")
    ended = script.watched("--phase", "nowhere:f", "--phase", "json:no_such", "script.py")
    assert "json has no no_such" in ended.err
    assert "nowhere was never imported" in ended.err
    assert "no generation was found" in ended.err
    assert max(map(len, ended.err.splitlines())) <= 100  # as wide as the report, in a pipe, too
    assert ended.status == 0


def test_calls_of_a_named_function_are_generations(script):
    script.write("""
        import time
        def evolve(): time.sleep(0.03)
        for seed in range(2):
            for generation in range(6): evolve()
    """)
    ended = script.watched("--generation", "evolve", "script.py")
    assert len(ended.run.generations) == 12
    assert "a generation is 1 call of evolve" in ended.err


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not here")
def test_optimizer_steps_are_generations(script):
    script.write("""
        import torch
        torch.set_num_threads(1)
        actor, critic = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)
        optimizers = [torch.optim.SGD(net.parameters(), 0.1) for net in (actor, critic)]
        for epoch in range(4):
            for step in range(30):
                for net, optimizer in zip((actor, critic), optimizers):
                    net(torch.ones(4, 8)).sum().backward()
                    optimizer.step()
                import time; time.sleep(0.02)
        print(epoch, step)
    """)
    ended = script.watched("--every", "10", "script.py")
    assert "a generation is 10 optimizer steps" in ended.err
    # 120 steps of the first optimizer; those of the first tenth of a second tell what there is.
    assert 8 <= len(ended.run.generations) <= 12


@pytest.mark.skipif(importlib.util.find_spec("gymnasium") is None, reason="gymnasium is not here")
def test_environment_resets_are_generations(script):
    script.write("""
        import gymnasium, time
        env = gymnasium.make("CartPole-v1")
        for episode in range(60):
            env.reset(seed=episode)
            over = False
            while not over:
                _, _, terminated, truncated, _ = env.step(env.action_space.sample())
                over = terminated or truncated
            time.sleep(0.02)
    """)
    ended = script.watched("--every", "5", "script.py")
    assert "a generation is 5 environment resets" in ended.err
    assert 4 <= len(ended.run.generations) <= 12


def test_run_that_was_killed_stays_readable(script):
    script.write("""
        import os, signal, time
        for step in range(10):
            time.sleep(0.03)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    ended = script.watched()
    assert ended.status == -9
    assert not ended.run.finished
    assert len(ended.run.generations) == 9


SHOWS_ITSELF = """
    import os, subprocess, sys, threading
    kept = []
    def work():
        kept.append([float(number) for number in range(20_000)])
    def ask():
        command = [sys.executable, "-m", "leakguard", "snapshot", str(os.getpid())]
        print(subprocess.run(command, capture_output=True, text=True))
"""


@needs_credentials
def test_script_that_nobody_prepared_answers_who_holds_what(script):
    script.write(
        SHOWS_ITSELF
        + """
    for _ in range(6):
        work()
    ask()
    print(threading.active_count(), os.getpid())
    """
    )
    ended = script.watched("--generation", "work", "script.py")
    assert b"returncode=0" in ended.out
    assert b"__main__.kept" in ended.out
    threads, pid = map(int, ended.out.split(b"\n")[-2].split())
    assert threads == 1
    assert not socket_path(pid).exists()


@needs_credentials
def test_script_that_is_deep_in_c_code_answers_all_the_same(script):
    script.write(
        SHOWS_ITSELF
        + """
    for _ in range(6):
        work()
    asking = threading.Thread(target=ask)
    asking.start()
    begun = threading.Lock()
    begun.acquire()
    threading.Thread(target=lambda: (asking.join(), begun.release())).start()
    begun.acquire()  # in C, until somebody has answered
    """
    )
    ended = script.watched("--generation", "work", "script.py")
    assert b"__main__.kept" in ended.out


@needs_credentials
def test_script_answers_after_it_has_forked_and_its_child_does_not(script):
    script.write(
        SHOWS_ITSELF
        + """
    import pathlib
    for _ in range(6):
        work()
    if not (child := os.fork()):
        threads = len(list(pathlib.Path("/proc/self/task").iterdir()))
        os._exit(threads)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    ask()
    """
    )
    ended = script.watched("--generation", "work", "script.py")
    assert ended.out.startswith(b"1\n")
    assert b"__main__.kept" in ended.out


def test_each_rank_writes_its_own_file_into_a_folder(script, monkeypatch):
    script.write(LOOP.format(keep="best[:] = [rollout]"))
    for rank in "01":
        monkeypatch.setenv("RANK", rank)
        assert script.watched("-o", "job/", "script.py").status == 0
    files = sorted((script.folder / "job").iterdir())
    assert [load(file).info.rank for file in files] == [0, 1]


def test_log_has_the_blocks_and_standard_output_none(script):
    script.write(LOOP.format(keep="best.append(rollout)"))
    ended = script.watched("--log", "training.log", "script.py")
    text = (script.folder / "training.log").read_text()
    assert ended.out == b""
    assert "LEAK DETECTED:" in text
    assert text.count("End of generation") >= 11
