"""Settings of the editor: pushed wrapped, pushed bare, pulled, refused (DESIGN §8)."""

from typing import Any

import pytest

from tests.e2e.raw_client import RawClient
from tests.features.conftest import Start

PULL = {"workspace": {"configuration": True}}


def tail(client: RawClient) -> Any:
    return client.request("test/setting", {"path": "compaction_keep_recent_tokens"})["value"]


def change(client: RawClient, settings: Any) -> None:
    client.notify("workspace/didChangeConfiguration", {"settings": settings})


@pytest.mark.parametrize("wrap", [lambda settings: settings, lambda settings: {"agentLs": settings}])
def test_settings_come_bare_or_in_their_section(start: Start, wrap: Any) -> None:
    client = start(settings={"compactionKeepRecentTokens": 5})
    assert tail(client) == 5
    change(client, wrap({"compactionKeepRecentTokens": 7}))
    assert tail(client) == 7


@pytest.mark.parametrize("settings", [None, {}])
def test_settings_are_asked_for_when_the_change_does_not_tell_them(start: Start, settings: Any) -> None:
    client = start(PULL, answers={"workspace/configuration": lambda params: [{"compactionKeepRecentTokens": 9}]})
    change(client, settings)
    client.wait_for(lambda message: message.get("method") == "workspace/configuration")
    assert client.notifications("workspace/configuration") == [{"items": [{"section": "agentLs"}]}]
    while tail(client) != 9:  # the answer is taken in after what was read with it
        pass


@pytest.mark.parametrize("answer", [[None], [], None, "x"])
def test_a_client_with_no_settings_changes_nothing(start: Start, answer: Any) -> None:
    client = start(PULL, answers={"workspace/configuration": lambda params: answer}, settings={"maxRequestsPerTurn": 3})
    change(client, None)
    client.wait_for(lambda message: message.get("method") == "workspace/configuration")
    assert client.request("test/setting", {"path": "max_requests_per_turn"})["value"] == 3


def test_a_bad_value_is_refused_by_name_and_the_last_good_one_stays(start: Start) -> None:
    client = start(settings={"compactionKeepRecentTokens": 5})
    change(client, {"agentLs": {"compactionKeepRecentTokens": "many"}})
    shown = client.wait_for(lambda message: message.get("method") == "window/showMessage")["params"]
    assert "compactionKeepRecentTokens" in shown["message"]
    assert shown["type"] == 1
    assert tail(client) == 5
