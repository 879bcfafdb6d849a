"""The small offline model as the memory's model: what it cannot do, the clamp does."""

from __future__ import annotations

import pytest

from agent_ls import local_model
from agent_ls.memory.clip import Caps
from agent_ls.memory.compress import compress_memory_file
from agent_ls.memory.store import MemoryStore
from agent_ls.memory.write_back import Done, write_back
from tests.memory.conftest import conversation, ended
from tests.memory.test_compress import entries, filled

pytestmark = [
    pytest.mark.local_model,
    pytest.mark.skipif(not local_model.is_installed(), reason="needs agent-ls[local] and its weights"),
]


@pytest.mark.timeout(300)
async def test_the_local_model_leaves_a_sentence_or_nothing_and_an_overfull_file_comes_out_within_its_caps(
    store: MemoryStore,
) -> None:
    from agent_ls.memory.ask import ask_of
    from agent_ls.models import resolve_model

    model = resolve_model("local")
    ask = ask_of(model.model)

    async def ask_briefly(prompt: str, *, max_tokens: int) -> str:
        return await ask(prompt, max_tokens=min(max_tokens, 80))

    try:
        messages = conversation(answer="The test used the real clock; I froze it and the test passes now.")
        outcome = await write_back(store, ended(messages=messages), ask=ask_briefly, enabled=True)
        assert isinstance(outcome, Done)
        assert len(store.read().lines) == (0 if outcome.line is None else 1)

        lines = ["# by hand", *entries(24)]
        small = filled(store, lines, Caps(20, 25_000))
        await compress_memory_file(small, ask=ask_briefly)
        file = store.read()
        assert small.caps.hold(file.lines)
        assert file.written_by_person == ("# by hand",)
        assert set(lines) <= {*file.lines, *store.archive_path.read_text().splitlines()}
    finally:
        await model.aclose()
