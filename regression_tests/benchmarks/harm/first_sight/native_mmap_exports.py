"""C objects: maps and byte arrays can be closed and resized as soon as the program's own views are gone."""

import mmap
import tempfile
import time

from regression_tests.benchmarks.harm.stage import watched

windows: list[memoryview] = []
base = bytearray(1_000_000)


def main() -> None:
    refused = 0
    with tempfile.TemporaryFile() as file, watched() as guard:
        for number in guard.generations(range(40)):
            time.sleep(0.04)  # the work of a round
            file.truncate(1 << 20)
            area = mmap.mmap(file.fileno(), 1 << 20)
            view = memoryview(area)[number : number + 100]
            view[0] = number
            windows.extend(memoryview(bytes(200))[k : k + 4] for k in range(100))
            try:
                area.close()
            except BufferError:
                refused += 1
            view.release()
            area.resize(1 << 19 if number % 2 else 1 << 20)
            area.close()
            held = memoryview(base)
            try:
                base.append(1)
            except BufferError:
                refused += 1
            held.release()
            base.append(number)  # no view may be left
        file.seek(0)
        print(refused, len(base), list(file.read(40)) == list(range(40)), len(windows))


main()
