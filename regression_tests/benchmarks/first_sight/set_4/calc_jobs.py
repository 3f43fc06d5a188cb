"""Runs calculation jobs as coroutines, each under a watchdog."""

# /// truth
# about = """a timer of an hour for each job, never cancelled, whose copied context keeps the job
# that was current when it was set, as in aiidateam/aiida-core issue 4698"""
# [[leak]]
# type = ["CalcJob", "TimerHandle", "Context", "hamt", "hamt_bitmap_node", "ndarray", "list",
#   "tuple"]
# holder = ["_scheduled", "PROCESS_STACK"]
# phase = ["run", "submit"]
# start = 1
# ///
import asyncio
import contextvars
import os
import sys

import numpy as np

from leakguard import LeakGuard

CANCEL_WATCHDOG = sys.argv[1] == "clean"
GENERATIONS = 300
JOBS = 6
WATCHDOG_SECONDS = 3_600.0

PROCESS_STACK: contextvars.ContextVar[tuple] = contextvars.ContextVar("process_stack", default=())


def overdue(number: int) -> None:
    print(f"job {number} has not ended in {WATCHDOG_SECONDS:.0f} s", file=sys.stderr)


class CalcJob:
    """Relaxes a chain of atoms; its steps can ask which job is the current one."""

    def __init__(self, number: int, rng: np.random.Generator) -> None:
        self.number = number
        self.positions = np.cumsum(rng.uniform(0.8, 1.2, 1_500))
        self.energies: list[float] = []

    async def run(self) -> float:
        token = PROCESS_STACK.set((*PROCESS_STACK.get(), self))
        watchdog = asyncio.get_running_loop().call_later(WATCHDOG_SECONDS, overdue, self.number)
        try:
            for _ in range(160):
                relax_once()
                await asyncio.sleep(0)
            return self.energies[-1]
        finally:
            PROCESS_STACK.reset(token)
            if CANCEL_WATCHDOG:
                watchdog.cancel()


def relax_once() -> None:
    job = PROCESS_STACK.get()[-1]
    strain = np.diff(job.positions) - 1.0
    job.energies.append(float(np.square(strain).sum()))
    job.positions[:-1] += 0.2 * strain
    job.positions[1:] -= 0.2 * strain


async def main() -> None:
    rng = np.random.default_rng(4698)
    number = 0
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for _ in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("submit"):
                jobs = []
                for _ in range(JOBS):
                    number += 1
                    jobs.append(CalcJob(number, rng))
            with guard.phase("run"):
                tasks = [asyncio.create_task(job.run()) for job in jobs]
                energies = await asyncio.gather(*tasks)
            with guard.phase("collect"):
                lowest = np.sort(energies)
                assert lowest[0] >= 0.0


if __name__ == "__main__":
    asyncio.run(main())
