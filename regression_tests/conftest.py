"""What holds for every test."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# How long an example takes says more about what else the machine does than about the code.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
# For nights: pytest --hypothesis-profile=many
settings.register_profile("many", settings.get_profile("any machine"), max_examples=40_000)
settings.load_profile("any machine")
