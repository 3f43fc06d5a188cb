"""Asyncio: a loop's own signal handlers and timers in the main thread hear each signal once, and none else."""

import asyncio
import os
import signal

from regression_tests.benchmarks.harm.stage import watched

heard: dict[str, int] = {"USR1": 0, "USR2": 0, "CHLD": 0, "WINCH": 0}
tasks: list["asyncio.Future[int]"] = []


def hear(name: str) -> None:
    heard[name] += 1


async def main() -> None:
    loop = asyncio.get_running_loop()
    for name in heard:
        loop.add_signal_handler(getattr(signal, f"SIG{name}"), hear, name)
    before = [str(signal.getsignal(getattr(signal, f"SIG{name}"))) == "Handlers" for name in heard]
    async def rounds() -> None:
        with watched() as guard:
            for number in guard.generations(range(40)):
                os.kill(os.getpid(), signal.SIGUSR1)
                await asyncio.sleep(0.005)
                os.kill(os.getpid(), signal.SIGUSR2)
                await asyncio.sleep(0.005)
                for _ in range(60):  # futures that nobody resolves
                    future: asyncio.Future[int] = loop.create_future()
                    future.add_done_callback(lambda _, n=number: hear("USR1"))
                    tasks.append(future)
    await rounds()
    await asyncio.sleep(0.05)
    print(heard, before, len(tasks), signal.pthread_sigmask(signal.SIG_BLOCK, []))


asyncio.run(main())
