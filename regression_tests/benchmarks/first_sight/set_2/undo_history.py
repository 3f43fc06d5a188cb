"""A text that several people edit at once. When the second one comes in, edits are linked both ways, to take
them back in any order; the limit of the history was meant to hold there too."""

# /// truth
# about = "a doubly linked list of edits without a limit, from round 41 of 160 on"
# [[leak]]
# type = "Edit"
# holder = "last_edit"
# phase = "type"
# start = 41
# within = 4
# kind = "instances"
# ///
import os
import random
import sys
import zlib

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = random.Random(12)
LIMIT = 60
SENTENCES = ["the tide comes in, ", "a boat is late; ", "gulls complain. ", "nobody reads the sign, "]


class Edit:
    def __init__(self, position, removed, inserted, previous):
        self.position, self.removed, self.inserted = position, removed, inserted
        self.previous, self.next = previous, None
        if previous is not None:
            previous.next = self


class Document:
    def __init__(self):
        self.text = "".join(rng.choices(SENTENCES, k=300))
        self.last_edit = self.first_edit = None
        self.length = 0
        self.shared = False

    def replace(self, position, count, inserted):
        removed = self.text[position : position + count]
        self.text = self.text[:position] + inserted + self.text[position + count :]
        if self.shared:
            self.remember(Edit(position, removed, inserted, self.last_edit))

    def remember(self, edit):
        self.last_edit = edit
        self.first_edit = self.first_edit or edit
        self.length += 1
        if not LEAK and self.length > LIMIT:
            second = self.first_edit.next
            self.first_edit.next = second.previous = None
            self.first_edit = second
            self.length -= 1

    def undo(self, count):
        edit = self.last_edit
        for _ in range(count):
            if edit is None:
                return
            here = edit.position
            self.text = self.text[:here] + edit.removed + self.text[here + len(edit.inserted) :]
            edit = edit.previous


def main():
    document = Document()
    sums = 0
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for minute in guard.generations(range(1, 161)):
            document.shared = minute > 40
            with guard.phase("type"):
                for _ in range(120):
                    position = rng.randrange(len(document.text) - 60)
                    document.replace(position, rng.randint(10, 50), rng.choice(SENTENCES)[: rng.randint(8, 23)] * 2)
                document.undo(3)
            with guard.phase("spell"):
                words = document.text.split()
                for _ in range(90):
                    sums += len({word.strip(",.;") for word in words})
            with guard.phase("save"):
                sums += len(zlib.compress(document.text.encode(), 6))
                document.text = document.text[:6000].ljust(6000)
    print("sums", sums, "edits", document.length)


main()
