"""Judges a series of numbers, one per generation: does it grow without bound?

"Worth: halved 1 of 12, doubled 0" says how many reports of 226 recorded runs changed when a number
was halved, and doubled (reports/judge/weights.md): 1 of the first 12 that were tried, and none.
"""

from leakguard.analysis.series.estimators import rate
from leakguard.analysis.series.explanations import forget
from leakguard.analysis.series.judge import judge_series
from leakguard.analysis.series.verdict import Growing, Plateau, SeriesVerdict, Shape

__all__ = ["Growing", "Plateau", "SeriesVerdict", "Shape", "forget", "judge_series", "rate"]
