"""Whether the main thread waits for others, as another thread sees it."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from leakguard.launch.main_wait import MainWait, Wait


def joins(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def leaves_a_pool(work):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work)


def asks_for_a_result(work):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()


def awaits(work):
    asyncio.run(asyncio.to_thread(work))


def takes_from_a_queue(work):
    items = queue.Queue()
    thread = threading.Thread(target=lambda: items.put(work()))
    thread.start()
    items.get()
    thread.join()


def works(work):
    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        time.sleep(0.001)


@pytest.fixture
def main_wait(monkeypatch):
    monkeypatch.setattr(threading.Thread, "join", threading.Thread.join)  # puts it back
    main_wait = MainWait()
    main_wait.listen()
    return main_wait


@pytest.mark.parametrize(
    ("main", "waits"),
    [
        (joins, "for this thread"),
        (leaves_a_pool, "for this thread"),
        (asks_for_a_result, "for a result"),
        (awaits, "for a result"),
        (takes_from_a_queue, "for nobody"),
        (works, "for nobody"),
    ],
)
def test_main_thread_waits_for_the_end_of_a_thread_or_for_what_one_works_out(
    main_wait, main, waits
):
    seen, deadline = [], time.monotonic() + 20.0

    def look():
        """Look a few times, and until the main thread has come to where it waits."""
        words = {
            Wait(threading.get_ident()): "for this thread",
            Wait(): "for a result",
            None: "for nobody",
        }
        while len(seen) < 5 or (seen[-1] != waits and time.monotonic() < deadline):
            seen.append(words.get(main_wait(), "for another"))
            time.sleep(0.02)

    main(look)
    assert seen[-1] == waits


class Frame:
    """The frame of a ``join()``; reading its local variables is refused."""

    f_globals = vars(threading)
    f_code = threading.Thread.join.__code__

    @property
    def f_locals(self):
        raise AssertionError("local variables were read")


def test_local_variables_of_no_frame_are_read(monkeypatch):
    frames = {threading.main_thread().ident: Frame()}
    monkeypatch.setattr("sys._current_frames", lambda: frames)
    assert MainWait()() == Wait()


def test_join_is_as_without(main_wait):
    thread = threading.Thread(target=int)
    with pytest.raises(RuntimeError, match="before it is started"):
        thread.join()
    with pytest.raises(TypeError):
        thread.join(1, 2)
    thread.start()
    assert thread.join(timeout=5) is None
    assert threading.Thread.join.__name__ == "join"
