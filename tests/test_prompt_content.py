import base64
from pathlib import Path

import pytest
from pydantic_ai.messages import BinaryContent

from agent_ls.prompt_content import ImageNotDecodable, plain_text, user_content
from agent_ls.protocol import (
    EmbeddedResource,
    EmbeddedText,
    ImageContent,
    Position,
    Range,
    ResourceLink,
    TextContent,
)

WORKSPACE = Path("/work space")


def test_plain_text_stays_text() -> None:
    assert user_content("hello", WORKSPACE) == "hello"
    assert user_content([TextContent("a"), TextContent("b")], WORKSPACE) == "a\n\nb"


def test_a_picture_keeps_its_place_and_its_bytes() -> None:
    content = user_content(
        [TextContent("look"), ImageContent(base64.b64encode(b"\x89PNG").decode(), "image/png")], WORKSPACE
    )
    assert content[0] == "look"
    assert isinstance(content[1], BinaryContent)
    assert content[1].data == b"\x89PNG"


def test_a_link_names_the_path_in_the_workspace_and_one_based_lines() -> None:
    link = ResourceLink("file:///work%20space/src/a.py", Range(Position(9, 0), Position(19, 4)))
    assert user_content([link], WORKSPACE) == "[attached: src/a.py, lines 10-20]"


def test_an_embedded_resource_is_fenced_by_its_path() -> None:
    block = EmbeddedResource(EmbeddedText("file:///elsewhere/a.py", "x = 1"))
    assert user_content([block], WORKSPACE) == '<attached path="/elsewhere/a.py">\nx = 1\n</attached>'


@pytest.mark.parametrize("data", ["not base64!", "é", "\ud800", "abc"])
def test_bad_base64_names_the_block(data: str) -> None:
    with pytest.raises(ImageNotDecodable, match=r"prompt\[1\]\.data"):
        user_content([TextContent("look"), ImageContent(data, "image/png")], WORKSPACE)


def test_commands_are_parsed_from_the_typed_text_alone() -> None:
    assert plain_text([ResourceLink("file:///a"), TextContent("/compact")]) == "/compact"


@pytest.mark.parametrize("uri", ["untitled:Untitled-1", "http://[", "", "\0"])
def test_other_uris_are_left_alone(uri: str) -> None:
    assert user_content([ResourceLink(uri)], WORKSPACE) == f"[attached: {uri}]"
