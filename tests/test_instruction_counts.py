"""The hot paths take no more instructions than they did: counted, never timed."""

from __future__ import annotations

import json

import pytest

from benchmarks.instructions import STORED, TOLERANCE, counts, python

KNOWN: dict[str, dict[str, int]] = json.loads(STORED.read_text())


@pytest.mark.skipif(python() not in KNOWN, reason=f"no counts are stored for Python {python()}")
def test_no_hot_path_takes_a_tenth_more_instructions_than_stored() -> None:
    known, now = KNOWN[python()], counts()
    assert now.keys() == known.keys(), "store the new ones: python -m benchmarks.instructions --write"
    slower = {name: f"{known[name]:,} → {now[name]:,}" for name in now if now[name] > known[name] * (1 + TOLERANCE)}
    assert not slower, "if that is meant: python -m benchmarks.instructions --write"
