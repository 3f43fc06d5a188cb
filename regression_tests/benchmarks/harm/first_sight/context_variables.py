"""Contexts: context variables hold what their task set, in phases, threads and callbacks, and are reset by token."""

import asyncio
import contextvars
import threading
import time

from regression_tests.benchmarks.harm.stage import watched

request: "contextvars.ContextVar[str]" = contextvars.ContextVar("request", default="none")
snapshots: list[contextvars.Context] = []
said: list[str] = []


async def handle(guard: object, number: int, k: int) -> str:
    token = request.set(f"{number}.{k}")
    try:
        with guard.phase("handle"):  # type: ignore[attr-defined]
            await asyncio.sleep(0.001 * (k % 3))
            snapshots.append(contextvars.copy_context())
        return request.get()
    finally:
        request.reset(token)


async def main() -> None:
    with watched() as guard:
        for number in guard.generations(range(20)):
            time.sleep(0.04)  # the work of a round
            request.set(f"round {number}")
            answers = await asyncio.gather(*(handle(guard, number, k) for k in range(10)))
            said.append(" ".join(answers) + "/" + request.get())
            box: list[str] = []
            context = contextvars.copy_context()
            thread = threading.Thread(target=context.run, args=(lambda: box.append(request.get()),))
            thread.start()
            thread.join()
            said.extend(box)
    print(said[-2:], len(said), len(set(said)))
    names = {variable.name for context in snapshots for variable in context} & {"request"}
    print(names, [context[request] for context in snapshots[:3]], request.get())


asyncio.run(main())
