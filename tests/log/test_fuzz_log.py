from __future__ import annotations

import logging
import random

import pytest

from .fuzz_log import fuzz


def test_damaged_logs_load(caplog: pytest.LogCaptureFixture) -> None:
    seed = random.randrange(2**32)
    with caplog.at_level(logging.CRITICAL):
        assert fuzz(300, seed) > 300
