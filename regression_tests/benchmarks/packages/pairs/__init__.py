"""The pairs, by the language in which the leak is written."""

from regression_tests.benchmarks.packages.pairs import (
    in_c,
    in_cplusplus,
    in_cython,
    in_python,
    in_rust,
)

__all__ = ["in_c", "in_cplusplus", "in_cython", "in_python", "in_rust"]
