"""What all tests have in common."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

# A busy machine is no reason to fail.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")

# What a shell starts in the background ignores Ctrl-C, and so does all that it starts: the tests
# that send it would wait in vain.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
