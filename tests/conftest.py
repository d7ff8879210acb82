"""What all tests have in common."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A busy machine is no reason to fail.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")
