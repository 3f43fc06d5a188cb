"""Evaluates the exercises of a course; a chapter imports what it needs when it begins."""

# /// truth
# about = """modules of the standard library, numpy and sympy that are imported late, one chapter
# after the other, for the first three fifths of the run, with the caches that they fill"""
# ///
import importlib
import os
import sys
from collections.abc import Callable

import numpy as np

from leakguard import LeakGuard

assert sys.argv[1] == "clean"
GENERATIONS = 240
CHAPTER = 20


def decimals(round_number: int) -> float:
    decimal = importlib.import_module("decimal")
    with decimal.localcontext() as context:
        context.prec = 40
        total = decimal.Decimal(0)
        for term in range(1, 400):
            total += decimal.Decimal(round_number % 7 + 1) / (term * term)
    return float(total)


def ratios(round_number: int) -> float:
    fractions = importlib.import_module("fractions")
    total = fractions.Fraction(0)
    for term in range(1, 60):
        total += fractions.Fraction(round_number % 5 + 1, term)
    return float(total)


def statistics_of(round_number: int) -> float:
    statistics = importlib.import_module("statistics")
    values = [((round_number + 1) * step * 7_919) % 1_000 for step in range(600)]
    return statistics.fmean(values) / (1.0 + statistics.stdev(values))


def documents(round_number: int) -> float:
    minidom = importlib.import_module("xml.dom.minidom")
    entries = "".join(f"<entry mark='{(round_number + n) % 13}'/>" for n in range(40))
    document = minidom.parseString(f"<marks>{entries}</marks>")
    marks = [int(e.getAttribute("mark")) for e in document.getElementsByTagName("entry")]
    document.unlink()
    return float(np.mean(marks))


def polynomials(round_number: int) -> float:
    polynomial = importlib.import_module("numpy.polynomial.chebyshev")
    x = np.linspace(-1.0, 1.0, 300)
    fit = polynomial.chebfit(x, np.exp(x * (1 + round_number % 3)), 9)
    return float(polynomial.chebval(0.3, fit))


def message(round_number: int) -> float:
    email = importlib.import_module("email.message")
    policy = importlib.import_module("email.policy")
    parcel = email.EmailMessage(policy=policy.default)
    parcel["Subject"] = f"marks of week {round_number % 11}"
    parcel.set_content("\n".join(f"line {n}" for n in range(40)))
    return float(len(parcel.as_bytes()))


def derivative(round_number: int) -> float:
    sympy = importlib.import_module("sympy")
    x = sympy.Symbol("x")
    power = round_number % 6 + 2
    slope = sympy.diff(sympy.sin(x) * x**power, x)
    return float(slope.subs(x, 1.5))


CHAPTERS: list[Callable[[int], float]] = [
    decimals,
    ratios,
    statistics_of,
    documents,
    polynomials,
    message,
    derivative,
]


def main() -> None:
    marks = np.zeros(len(CHAPTERS))
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for generation in guard.generations(range(1, GENERATIONS + 1)):
            begun = min((generation - 1) // CHAPTER + 1, len(CHAPTERS))
            for number, chapter in enumerate(CHAPTERS[:begun]):
                marks[number] = 0.9 * marks[number] + 0.1 * chapter(generation)
            for _ in range(3):
                table = np.random.default_rng(generation).normal(size=(200, 200))
                assert np.isfinite(np.linalg.norm(table @ table.T) + marks.sum())


if __name__ == "__main__":
    main()
