"""One request's output allowance fits what the request leaves of the window."""

from __future__ import annotations

import pytest
from pydantic_ai.models.test import TestModel
from pydantic_ai.settings import ModelSettings

from agent_ls.models.request_settings import with_allowance_in


@pytest.mark.parametrize(
    ("of_the_model", "of_the_request", "room", "expected"),
    [
        (None, None, 10, None),
        ({"max_tokens": 1_600}, None, 2_000, None),
        ({"max_tokens": 1_600}, None, 900, {"max_tokens": 900}),
        ({"max_tokens": 1_600}, {"temperature": 0.0}, 0, {"temperature": 0.0, "max_tokens": 1}),
        ({"max_tokens": 100}, {"max_tokens": 1_600}, 900, {"max_tokens": 900}),
        ({"max_tokens": 1_600}, {"max_tokens": 100}, 900, {"max_tokens": 100}),
    ],
)
def test_an_allowance_is_lowered_and_never_raised(
    of_the_model: ModelSettings | None, of_the_request: ModelSettings | None, room: int, expected: ModelSettings | None
) -> None:
    model = TestModel(settings=of_the_model)
    assert with_allowance_in(room, of_the_request, model) == expected
