"""Asyncio: a loop that starts children and reaps them learns each status, and no unknown child is met."""

import asyncio
import sys

from regression_tests.benchmarks.harm.stage import watched

backlog: list[list[str]] = []
unknown: list[dict[str, object]] = []


async def child(number: int) -> tuple[int | None, bytes]:
    text = f"import sys; sys.stdout.write(sys.stdin.read()[::-1]); sys.exit({number % 7})"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-S", "-E", "-c", text, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate(b"abc%d" % number)
    return process.returncode, out


async def ticker(ticks: list[int]) -> None:
    while True:
        await asyncio.sleep(0.01)
        ticks[0] += 1


async def main() -> None:
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unknown.append(context))
    ticks = [0]
    task = asyncio.create_task(ticker(ticks))
    with watched() as guard:
        for number in guard.generations(range(14)):
            print(await asyncio.gather(child(number), child(number + 100)))
            backlog.append([f"{number}:{k}" for k in range(500)])
    task.cancel()
    print(ticks[0] > 3, unknown)


asyncio.run(main())
