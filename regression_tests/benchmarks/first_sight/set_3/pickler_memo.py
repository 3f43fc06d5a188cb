"""Episodes are appended to a file with one pickler that lives as long as the run."""

# /// truth
# about = "a pickler that is kept remembers every object it has written, in its memo"
# [[leak]]
# type = ["Episode", "list", "float", "dict"]
# holder = ["pickler", "Recorder", "memo"]
# phase = "save"
# start = 1
# ///
import os
import pickle
import random
import sys
import tempfile

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
random.seed(61)


class Episode:
    def __init__(self, number, rewards):
        self.number = number
        self.rewards = rewards
        self.tags = {"seed": number * 7, "map": f"map-{number % 9}"}


class Recorder:
    def __init__(self, file):
        self.file = file
        self.pickler = pickle.Pickler(file, protocol=4)

    def save(self, episode):
        self.pickler.dump(episode)
        if not LEAK:
            self.pickler.clear_memo()
        if self.file.tell() > 2_000_000:
            self.file.seek(0)
            self.file.truncate()


def play(number):
    total, rewards = 0.0, []
    for step in range(600):
        total = 0.99 * total + random.random() * ((number + step) % 13)
        if step % 3 == 0:
            rewards.append(total)
    return Episode(number, rewards)


guard = LeakGuard(out=os.environ["RUN_FILE"])
with tempfile.TemporaryFile() as file, guard:
    recorder = Recorder(file)
    for batch in guard.generations(range(1, 261)):
        with guard.phase("play"):
            episodes = [play(batch * 60 + k) for k in range(60)]
        with guard.phase("save"):
            for episode in episodes[:4]:
                recorder.save(episode)
        episodes = episode = None
