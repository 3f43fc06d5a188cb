"""Files: text that buffers hold while a look is taken is written once, and a loop left by SystemExit tells its code."""

import ctypes
import os
import sys
import tempfile
import threading
import time

from regression_tests.benchmarks.harm.stage import watched

libc = ctypes.CDLL(None)
libc.fopen.restype, libc.fopen.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_char_p]
libc.fputs.argtypes, libc.fclose.argtypes = [ctypes.c_char_p, ctypes.c_void_p], [ctypes.c_void_p]
backlog: list[list[bytes]] = []


def main() -> None:
    descriptor, path = tempfile.mkstemp()
    native = path + ".c"
    python, c_file = os.fdopen(descriptor, "w", buffering=1 << 16), libc.fopen(native.encode(), b"w")
    stuck = threading.Event()
    threading.Thread(target=stuck.wait, daemon=True).start()  # still there at the end
    try:
        with watched() as guard:
            for number in guard.generations(range(100)):
                time.sleep(0.04)  # the work of a round
                python.write(f"{number}\n")
                libc.fputs(b"%d\n" % number, c_file)
                sys.stdout.write(f"{number} ")
                backlog.extend([b"%d" % k] for k in range(1500))
                if number == 24:
                    sys.exit(7)
    finally:
        python.close()
        libc.fclose(c_file)
        for name in (path, native):
            with open(name) as file:
                print(file.read().split() == [str(n) for n in range(25)])
            os.unlink(name)


main()
