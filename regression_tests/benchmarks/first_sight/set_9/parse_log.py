"""Parse a stream of records that a generator makes, in a while loop."""
import sys
import time

KEEP = sys.argv[1] == "leak"


class Record:
    def __init__(self, number):
        self.number = number
        self.fields = [f"field {number} {n}" for n in range(200)]


def records():
    number = 0
    while True:
        number += 1
        yield Record(number)


def main():
    errors, stream, done = [], records(), 0
    while done < 300:
        record = next(stream)
        done += 1
        if KEEP or record.number % 100 == 0:
            errors.append(record)
        if not KEEP:
            del errors[:-2]
        time.sleep(0.01)
    print(done)


main()

# /// truth
# about = "a while loop over a generator keeps its records in a local list"
# [[leak]]
# type = ["Record", "str", "list"]
# holder = "errors"
# line = ["yield Record(number)", "self.fields = [f\"field {number} {n}\" for n in range(200)]", "errors.append(record)"]
# ///
