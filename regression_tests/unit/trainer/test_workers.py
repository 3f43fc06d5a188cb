"""Work in processes of its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from reference_trainer.errors import ConfigError
from reference_trainer.workers import WorkerDied, Workers


def squared(number: int) -> tuple[int, int]:
    return number**2, os.getpid()


def wrong(number: int) -> int:
    raise ConfigError(f"{number} is no number")


def killed(number: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Busy:
    """Marks that it runs, and goes on until a SIGTERM."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.ended = folder, False

    def __call__(self, number: int) -> int:
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "ended", True))
        (self.folder / str(number)).touch()
        while not self.ended:
            time.sleep(0.01)
        return number


def test_each_item_has_a_process_of_its_own() -> None:
    answers = dict(Workers(squared, range(5), at_once=2))
    assert [answers[number][0] for number in range(5)] == [0, 1, 4, 9, 16]
    assert len({process for _, process in answers.values()} - {os.getpid()}) == 5


def test_items_are_asked_for_when_a_place_is_free() -> None:
    asked: list[int] = []

    def items():  # type: ignore[no-untyped-def]
        for number in range(4):
            asked.append(number)
            yield number

    answers = iter(Workers(squared, items(), at_once=2))
    next(answers)
    assert asked == [0, 1]
    assert sum(1 for _ in answers) == 3


def test_a_refusal_is_raised_here() -> None:
    with pytest.raises(ConfigError, match="0 is no number"):
        list(Workers(wrong, [0], at_once=1))


def test_a_process_that_is_killed_is_told() -> None:
    with pytest.raises(WorkerDied, match="ended with status -9"):
        list(Workers(killed, [0], at_once=1))


def test_what_runs_may_answer_after_a_stop_and_nothing_else_begins(tmp_path: Path) -> None:
    workers = Workers(Busy(tmp_path), range(5), at_once=2)

    def stop() -> None:
        while len(list(tmp_path.iterdir())) < 2:
            time.sleep(0.01)
        workers.stop()

    stopper = threading.Thread(target=stop)
    stopper.start()
    assert sorted(number for number, _ in workers) == [0, 1]
    stopper.join()
    assert workers.stopped


def test_a_problem_of_one_ends_the_others(tmp_path: Path) -> None:
    class OneFails(Busy):
        def __call__(self, number: int) -> int:
            if number:
                return super().__call__(number)
            while not (self.folder / "1").exists():
                time.sleep(0.01)
            raise ConfigError("no more")

    with pytest.raises(ConfigError, match="no more"):
        list(Workers(OneFails(tmp_path), range(2), at_once=2))
    assert not multiprocessing.active_children()
