"""What a turn's agent is made of, when settings change while it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.history import History
from agent_ls.models import open_model
from agent_ls.session import Session
from agent_ls.settings import LiveSettings
from tests.fake_client import FakeClient
from tests.simulator import Reply, Simulator
from tests.test_models_shared import client_of


async def test_a_model_whose_settings_change_stays_open_until_the_next_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Simulator(otherwise=Reply("Yes.")) as simulator:
        for name, value in simulator.environment.items():
            monkeypatch.setenv(name, value)
        settings = LiveSettings.of_this_process(initialization={"model": "openai-chat:gpt-5"})
        session = Session.open(tmp_path, History.create(tmp_path), FakeClient(), settings, tmp_path)
        answers = client_of(await session.setup.model())
        settings.update_configuration({"model": "openai-chat:gpt-5", "compactionContextWindowTokens": 50_000})
        summarizes = client_of(await session.setup.summarizer())
        assert summarizes is not answers
        assert not answers.is_closed()
        assert client_of(await session.setup.model()) is summarizes
        assert answers.is_closed()
        await session.aclose()
        assert summarizes.is_closed()
        model = await open_model("openai-chat:gpt-5")
        assert not client_of(model).is_closed()
        await model.aclose()
