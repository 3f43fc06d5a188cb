"""Judges a series of numbers, one per generation: does it grow without bound?"""

from leakguard.analysis.series.estimators import rate
from leakguard.analysis.series.explanations import forget
from leakguard.analysis.series.judge import judge_series
from leakguard.analysis.series.verdict import Growing, Plateau, SeriesVerdict, Shape

__all__ = ["Growing", "Plateau", "SeriesVerdict", "Shape", "forget", "judge_series", "rate"]
