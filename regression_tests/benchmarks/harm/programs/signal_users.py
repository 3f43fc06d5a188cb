"""Signals: handlers, masks and the wakeup descriptor are the program's; none may be lost.

It asks for a signal in each round, from a second thread and from itself, and counts.
"""

import faulthandler
import os
import signal
import threading
import time

from regression_tests.benchmarks.harm.stage import event, watched


class Sample:
    pass


counted = {}


def count(number, _):
    counted[number] = counted.get(number, 0) + 1


reading, writing = os.pipe()
os.set_blocking(writing, False)
os.set_blocking(reading, False)
signal.set_wakeup_fd(writing)
before = {number: signal.getsignal(number) for number in signal.Signals if number < 32}
for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGTERM, signal.SIGINT):
    signal.signal(number, count)
own = {number: signal.getsignal(number) for number in signal.Signals if number < 32}
kept = []
with watched() as guard:
    for _ in guard.generations(range(12)):
        kept.extend(Sample() for _ in range(500))
        os.kill(os.getpid(), signal.SIGUSR1)
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        sender = threading.Timer(0.03, os.kill, (os.getpid(), signal.SIGTERM))
        sender.start()
        time.sleep(0.06)
        sender.join()
        os.kill(os.getpid(), signal.SIGINT)
        event(sorted((signal.Signals(n).name, times) for n, times in counted.items()))
        now = {number: signal.getsignal(number) for number in own}
        event([n.name for n in own if now[n] != own[n]], signal.pthread_sigmask(0, ()))
        event(len(os.read(reading, 1000)), faulthandler.is_enabled())
event(signal.set_wakeup_fd(-1) == writing)
