"""The cycle collector is paused for a while, never for good."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from agent_ls.garbage import collector_paused, never_look_again


def test_the_collector_runs_again_afterwards_also_after_a_failure() -> None:
    assert gc.isenabled()
    with collector_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(FileNotFoundError), collector_paused():
        Path("/no/such/file").stat()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_is_there_is_not_looked_at_again_and_cycles_made_later_are() -> None:
    never_look_again()
    try:
        before = gc.get_freeze_count()
        cycle: list[object] = []
        cycle.append(cycle)
        del cycle
        assert gc.collect() >= 1
        assert gc.get_freeze_count() == before > 0
    finally:
        gc.unfreeze()
