"""The small offline model as the memory's model: what it cannot do, the clamp does (issue 4)."""

from __future__ import annotations

import pytest

from agent_ls import local_model
from agent_ls.memory.compress import compress_memory_file
from agent_ls.memory.store import MemoryStore
from agent_ls.memory.write_back import Done, write_back
from tests.memory.conftest import conversation, ended
from tests.memory.test_compress import entries, filled

pytestmark = [
    pytest.mark.local_model,
    pytest.mark.skipif(not local_model.is_installed(), reason="needs agent-ls[local] and its weights"),
]


async def test_the_local_model_leaves_a_sentence_or_nothing_and_250_lines_come_out_within_the_caps(
    store: MemoryStore,
) -> None:
    from agent_ls.memory.ask import ask_of
    from agent_ls.models import resolve_model

    model = resolve_model("local")
    try:
        ask = ask_of(model.model)
        messages = conversation(answer="The test used the real clock; I froze it and the test passes now.")
        outcome = await write_back(store, ended(messages=messages), ask=ask, enabled=True)
        assert isinstance(outcome, Done)
        assert len(store.read().lines) == (0 if outcome.line is None else 1)

        lines = ["# by hand", *entries(249)]
        await compress_memory_file(filled(store, lines), ask=ask)
        file = store.read()
        assert store.caps.hold(file.lines)
        assert file.written_by_person == ("# by hand",)
        assert set(lines) <= {*file.lines, *store.archive_path.read_text().splitlines()}
    finally:
        await model.aclose()
