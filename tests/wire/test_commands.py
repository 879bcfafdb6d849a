"""workspace/executeCommand is the request under another name."""

from typing import Any

import pytest

from agent_ls.protocol import COMPACT, CONTEXT, PROMPT
from agent_ls.wire.commands import request_of
from agent_ls.wire.converter import BadParams

METHODS = [PROMPT, COMPACT, CONTEXT]


@pytest.mark.parametrize(
    ("params", "request_"),
    [
        ({"command": "agent.context"}, (CONTEXT, None)),
        ({"command": "agent.context", "arguments": None}, (CONTEXT, None)),
        ({"command": "agent.context", "arguments": [{"sessionId": "s"}]}, (CONTEXT, {"sessionId": "s"})),
        ({"command": "agent.prompt", "arguments": ["hello"]}, (PROMPT, {"prompt": "hello"})),
        ({"command": "agent.compact", "arguments": ["the tests"]}, (COMPACT, {"focus": "the tests"})),
        (
            {"command": "agent.prompt", "arguments": ["hello"], "workDoneToken": 7},
            (PROMPT, {"prompt": "hello", "workDoneToken": 7}),
        ),
        (
            {"command": "agent.compact", "arguments": [{"workDoneToken": "own"}], "workDoneToken": 7},
            (COMPACT, {"workDoneToken": "own"}),
        ),
    ],
)
def test_a_command_is_a_request(params: Any, request_: Any) -> None:
    assert request_of(params, METHODS) == request_


@pytest.mark.parametrize(
    ("params", "field"),
    [
        (None, "$.command"),
        ({"command": 3}, "$.command"),
        ({"command": "agent.unknown"}, "$.command"),
        ({"command": "agent/prompt"}, "$.command"),
        ({"command": "agent.prompt", "arguments": "hello"}, "$.arguments"),
        ({"command": "agent.prompt", "arguments": ["a", "b"]}, "$.arguments"),
    ],
)
def test_a_bad_command_is_named(params: Any, field: str) -> None:
    with pytest.raises(BadParams) as bad:
        request_of(params, METHODS)
    assert bad.value.problems[0].startswith(field)
