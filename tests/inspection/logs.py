"""Logs to inspect: any lines at all, hostile ones, and a real session that was compacted."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from agent_ls.compaction.carried import Carried, Command, UserWords
from agent_ls.compaction.occupancy import Levels
from agent_ls.compaction.summary import parse_summary, summary_message
from agent_ls.history import Checkpoint, History
from agent_ls.log.codec import encode
from agent_ls.log.entries import (
    CompactionEntry,
    CompactionRecord,
    Header,
    MemoryEntry,
    MessagesEntry,
    Totals,
    TurnEntry,
    UndoEntry,
)
from agent_ls.protocol import CompactionId, SessionId, TurnId, TurnUsage
from agent_ls.tokens import Tokens

LEVELS = Levels.of(20_000, micro_reserve=0.4, full_reserve=0.2)
AT = datetime(2026, 12, 1, 10, 30, tzinfo=UTC)
REAL = Path(__file__).parents[1] / "data" / "sessions" / "cc-subagent.json"

ATTACKS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style></title></textarea></svg><script>alert(1)</script>",
    "<!-- --><![CDATA[ <iframe src=javascript:alert(1)> ]]>",
    "&lt;script&gt;&#x3c;b&#x3e;",
    "\x1b]8;;http://evil\x07click\x1b]8;;\x07 \u202egnp.exe \x00 \ud800",
    "javascript:alert(1)",
)
attacks = st.sampled_from(ATTACKS) | st.text(alphabet="<>&\"'=/! -\x00\x1b\u202e\ud800abon", max_size=30)


@st.composite
def hostile_logs(draw: st.DrawFn) -> bytes:
    """A log in which every text that a log can hold is an attack."""
    said = draw(attacks)
    message: list[ModelMessage] = [
        ModelRequest([UserPromptPart(draw(attacks))]),
        ModelResponse([ThinkingPart(said), TextPart(draw(attacks)), ToolCallPart(said, {said: draw(attacks)}, said)]),
        ModelRequest([ToolReturnPart(said, draw(attacks), said, outcome="failed"), UserPromptPart([said])]),
    ]
    skeleton = parse_summary(f"# Conversation summary\n## Goal\nmore {draw(attacks)}")
    words = UserWords(draw(attacks), said)
    carried = Carried((words,), (draw(attacks),), (draw(attacks),), (Command(draw(attacks), 1),))
    record = CompactionRecord(
        AT, CompactionId(said), "manual", Tokens.measured(9), Tokens.estimated(3), 3, (), 3, Totals()
    )
    usage = TurnUsage(1, 1, 0, 1)
    return b"".join(
        [
            encode(Header(1, SessionId(said), draw(attacks), AT, said)),
            encode(MessagesEntry(AT, 0, tuple(message), title=draw(attacks))),
            encode(CompactionEntry(record, summary_message(skeleton, carried, ""), ())),
            encode(UndoEntry(AT, CompactionId(draw(attacks)))),
            encode(TurnEntry(AT, TurnId(said), "end_turn", usage, 0.1, 3, Totals(turns=1), error=draw(attacks))),
            encode(MemoryEntry(AT, 3, draw(attacks))),
            f'{{"type": "{"".join(each for each in said if each.isalpha())}<b>"}}\n'.encode(),
            draw(attacks).encode("utf-8", "replace").replace(b"\n", b"") + b"\n",
        ]
    )


def compacted(folder: Path) -> tuple[Path, int]:
    """A real session that was compacted once, went on for a turn and has one turn without an end; and its tail."""
    history = History.create(folder, directory=folder)
    messages = ModelMessagesTypeAdapter.validate_json(REAL.read_bytes())
    for message in messages:
        history.append(message)
    asyncio.run(history.record_turn(TurnId("t1"), "end_turn", TurnUsage(100, 10, 50, 2), 0.25))
    summary = parse_summary("# Conversation summary\n## Goal\nFind the bug.")
    carried = Carried(changed=("src/app.py",), commands=(Command("make test", 2),))
    tail_start = len(history.messages) - 2
    history.compact(
        Checkpoint(
            CompactionId("c1"),
            summary_message(summary, carried, ""),
            tail_start,
            "guard",
            Tokens.measured(9_000),
            Tokens.estimated(2_000),
        )
    )
    history.append(ModelRequest.user_text_prompt("And now?"))
    history.close()
    return history.path, tail_start
