"""From a run to a diagnosis. Pure: no clock, no file, no process, standard library only."""

from leakguard.analysis.diagnosis import diagnose
from leakguard.analysis.trend import growth, trend

__all__ = ["diagnose", "growth", "trend"]
