"""Nothing that was said is lost to the model (CASCADE §13, FAULTS 42)."""

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agent_ls.log.entries import Ordinal
from agent_ls.log.replay import Original
from agent_ls.tools.capabilities import agent_capabilities
from agent_ls.tools.recall import INSTRUCTION
from tests.tools.conftest import Bench


def said(*messages: ModelMessage) -> list[Original]:
    return [Original(Ordinal(number), message) for number, message in enumerate(messages)]


TALK = said(
    ModelRequest([UserPromptPart("Never touch the LEGACY folder.")]),
    ModelResponse([TextPart("I shall read it."), ToolCallPart("read_file", {"path": "legacy/a.py"}, "c1")]),
    ModelRequest(
        [
            ToolReturnPart("read_file", "exact\r\n  bytes\t\u2028 of the file", "c1"),
            ToolReturnPart("recall", "legacy legacy", "c2"),
        ]
    ),
)


async def test_words_find_places_the_users_first_and_not_recalls_own_results(bench: Bench) -> None:
    bench.originals.messages = TALK
    lines = (await bench.call("recall", query="legacy")).content.splitlines()
    assert [line.split()[0] for line in lines] == ["message-0.0", "message-1.1"]


async def test_what_the_user_said_is_found_however_often_the_agent_said_the_same(bench: Bench) -> None:
    agent = [ModelResponse([TextPart(f"I continue with {number}.")]) for number in range(20)]
    user = [ModelRequest([UserPromptPart(f"continue {number}")]) for number in range(8)]
    bench.originals.messages = said(*user, *agent)
    lines = (await bench.call("recall", query="continue")).content.splitlines()
    places = [line.split()[0] for line in lines[:-1]]
    assert places[:5] == [f"message-{number}.0" for number in (7, 6, 5, 4, 3)]
    assert places[5:] == [f"message-{number}.0" for number in (27, 26, 25, 24, 23)]
    assert lines[-1] == "[18 more not shown: use more words]"
    bench.originals.messages = said(*user, agent[0])
    lines = (await bench.call("recall", query="continue")).content.splitlines()
    assert len(lines) == 9
    assert lines[-1].startswith("message-8.0")


async def test_an_id_gives_the_exact_text(bench: Bench) -> None:
    bench.originals.messages = TALK
    result = await bench.call("recall", id="message-2.0")
    assert result.content.split("\n", 1)[1] == "exact\r\n  bytes\t\u2028 of the file"


async def test_a_long_text_comes_in_pages_that_join(bench: Bench) -> None:
    text = "".join(f"{number} of many\n" for number in range(3_000))
    bench.originals.messages = said(ModelRequest([UserPromptPart(text)]))
    bench.window = 20_000
    got, offset = "", 0
    while offset < len(text):
        page = (await bench.call("recall", id="message-0.0", offset=offset)).content.split("\n", 1)[1]
        assert page
        got, offset = got + page, offset + len(page)
    assert got == text


async def test_many_matches_are_counted(bench: Bench) -> None:
    bench.originals.messages = said(*[ModelRequest([UserPromptPart(f"needle {n}")]) for n in range(25)])
    lines = (await bench.call("recall", query="NEEDLE")).content.splitlines()
    assert len(lines) == 11
    assert lines[0].startswith("message-24.0")
    assert "15 more" in lines[-1]


async def test_fault_42_a_file_read_again_gives_its_bytes_again(bench: Bench) -> None:
    (bench.workspace / "a.py").write_text("the bytes\n")
    read = ("read_file", {"path": "a.py"})
    results = await bench.calls([read], [read], [read])
    assert all("the bytes" in result.content for result in results)


async def test_the_instructions_name_recall_only_when_something_was_elided(bench: Bench) -> None:
    seen: list[str | None] = []

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(info.instructions)
        return ModelResponse([TextPart("done")])

    for elided in (False, True):
        bench.elided = elided
        await Agent(FunctionModel(respond), capabilities=agent_capabilities(bench.environment)).run("go")
    assert INSTRUCTION not in (seen[0] or "")
    assert INSTRUCTION in (seen[1] or "")
