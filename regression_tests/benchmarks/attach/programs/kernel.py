"""A notebook's kernel: a front end, in a process of its own, runs the same cell again and again."""

import os
import subprocess
import sys
import tempfile

FRONT_END = """
import sys, time
from jupyter_client import BlockingKernelClient
client = BlockingKernelClient(connection_file=sys.argv[1])
while True:
    try:
        client.load_connection_file()
        break
    except (OSError, ValueError):
        time.sleep(0.1)
client.start_channels()
client.wait_for_ready()
client.execute("history = []", store_history=False, reply=True)
cell = "history.append([str(n) for n in range(200)])"
while True:
    client.execute(cell if sys.argv[2] == "leak" else cell + "; del history[:-20]",
                   store_history=False, reply=True)
    time.sleep(0.01)
"""


def main():
    from ipykernel.kernelapp import IPKernelApp

    file = os.path.join(tempfile.mkdtemp(), "connection.json")
    command = [sys.executable, "-c", FRONT_END, file, sys.argv[1]]
    with subprocess.Popen(command) as front_end:
        try:
            IPKernelApp.launch_instance(argv=["-f", file, "--no-stdout", "--no-stderr"])
        finally:
            front_end.kill()


main()
