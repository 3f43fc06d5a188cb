"""Whether the main thread waits for others, as another thread sees it."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from leakguard.live.main_thread import main_thread_waits


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


@pytest.mark.parametrize(
    ("main", "for_end", "for_results"),
    [
        (joins, True, True),
        (leaves_a_pool, True, True),
        (asks_for_a_result, False, True),
        (awaits, False, True),
        (takes_from_a_queue, False, False),
        (works, False, False),
    ],
)
def test_main_thread_waits_for_others_to_end_or_for_what_they_work_out(main, for_end, for_results):
    seen, deadline = [], time.monotonic() + 20.0

    def look():
        """Look a few times, and until the main thread has come to where it waits."""
        while len(seen) < 5 or (seen[-1] != (for_end, for_results) and time.monotonic() < deadline):
            seen.append((main_thread_waits(for_results=False), main_thread_waits()))
            time.sleep(0.02)

    main(look)
    assert seen[-1] == (for_end, for_results)
