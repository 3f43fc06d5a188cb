"""Load a table in one loop, simulate in the next."""
import random
import sys
import time

KEEP = sys.argv[1] == "leak"
random.seed(0)
table = {}
events = []


class Event:
    def __init__(self, time_, payload):
        self.time, self.payload = time_, payload


for shard in range(40):
    table[shard] = [random.random() for _ in range(2_000)]
    time.sleep(0.02)

clock = 0.0
for step in range(400):
    clock += random.random()
    event = Event(clock, [table[step % 40][n] + clock for n in range(300)])
    events.append(event)
    if not KEEP:
        events[:] = events[-5:]
    time.sleep(0.01)
print(len(events))

# /// truth
# about = "events of a simulation are kept; a loop that loads comes before"
# [[leak]]
# type = ["Event", "list", "float"]
# holder = "events"
# line = ["event = Event(clock, [table[step % 40][n] + clock for n in range(300)])", "events.append(event)"]
# ///
