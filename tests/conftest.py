"""Fixtures shared by all tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    # Not at run time: most tests need neither, and importing them takes seconds.
    from agent_ls.models import ResolvedModel
    from tests.simulator import Simulator

# A deadline is a timed assertion: on a busy machine it fails without a fault.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

SimulatedModel = Callable[..., "ResolvedModel"]


@pytest.fixture
async def simulated_model() -> AsyncIterator[SimulatedModel]:
    """`simulated_model(simulator, name, window=None)`: a model that asks the simulator, closed after the test."""
    from agent_ls.models import resolve_model

    resolved: list[ResolvedModel] = []

    def resolve(simulator: Simulator, name: str, window: int | None = None) -> ResolvedModel:
        resolved.append(resolve_model(name, environ=simulator.environment, window=window))
        return resolved[-1]

    yield resolve
    for one in resolved:
        await one.aclose()
