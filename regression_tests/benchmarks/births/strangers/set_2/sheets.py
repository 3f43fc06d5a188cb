"""A spreadsheet engine: edits, recalculation in Decimal, autosave, clipboard."""
import csv
import ctypes
import io
import random
import re
import sys
import time
from collections import deque
from decimal import Decimal, getcontext

variant = sys.argv[1]
getcontext().prec = 24
REFERENCE = re.compile(r"([A-Z])(\d+)")
rng = random.Random(77)
clipboard = []


class Workbook:
    def __init__(self, rows=60, columns="ABCDEF"):
        self.columns = columns
        self.rows = rows
        self.cells = {}
        self.undo = [] if variant == "leak" else deque(maxlen=3)
        self.parsed = {}
        for row in range(1, rows + 1):
            self.cells[f"A{row}"] = Decimal(row) / 7
            for before, column in zip(columns, columns[1:]):
                self.cells[f"{column}{row}"] = f"{before}{row}*{before}{max(1, row - 1)}"
        self.values = {}

    def edit(self, name, value):
        self.cells[name] = value

    def references(self, formula):
        if formula not in self.parsed:
            self.parsed[formula] = [c + r for c, r in REFERENCE.findall(formula)]
        return self.parsed[formula]

    def recalculate(self):
        values = {}
        for row in range(1, self.rows + 1):
            for column in self.columns:
                name = f"{column}{row}"
                cell = self.cells[name]
                if isinstance(cell, Decimal):
                    values[name] = cell
                    continue
                left, right = self.references(cell)
                values[name] = (values[left] * values[right] + 1).sqrt()
        self.undo.append(self.values)
        self.values = values

    def export(self):
        out = io.StringIO()
        writer = csv.writer(out)
        for row in range(1, self.rows + 1):
            writer.writerow([self.values[f"{c}{row}"] for c in self.columns])
        return out.getvalue()


def copy_range(text):
    """Hands a range to the system clipboard, as C wants it."""
    data = text.encode()
    buffer = ctypes.create_string_buffer(data, 160_000)
    if variant == "fixed":
        clipboard.clear()
    clipboard.append(buffer)
    return ctypes.addressof(buffer)


def edit_session(book, edits):
    totals = []
    for edit in range(edits):
        for _ in range(5):
            book.edit(f"A{rng.randrange(1, 61)}", Decimal(rng.randrange(1, 10_000)) / 13)
        book.recalculate()
        text = book.export()
        if edit >= 30 and edit % 2 == 0:
            copy_range(text)
        totals.append(float(sum(book.values.values())))
        time.sleep(0.04)
    return totals


def main():
    book = Workbook()
    totals = edit_session(book, 80)
    print("total", round(totals[-1], 3), "undo", len(book.undo), "clipboard", len(clipboard))


if __name__ == "__main__":
    main()
