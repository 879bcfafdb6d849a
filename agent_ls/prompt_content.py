"""A prompt's ACP content blocks as pydantic-ai user content."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path

from pydantic_ai.messages import BinaryContent, UserContent

from agent_ls.file_uris import path_of
from agent_ls.protocol import (
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    Range,
    ResourceLink,
    TextContent,
)


class ImageNotDecodable(ValueError):
    """An image block whose `data` is not base64; the message names the block."""


def user_content(prompt: str | Sequence[ContentBlock], workspace: Path) -> str | list[UserContent]:
    """What the model is sent for `prompt`: text alone as `str`, otherwise a list that keeps the blocks' order.

    Raises ImageNotDecodable.
    """
    if isinstance(prompt, str):
        return prompt
    content: list[UserContent] = [_block(block, index, workspace) for index, block in enumerate(prompt)]
    if all(isinstance(item, str) for item in content):
        return "\n\n".join(str(item) for item in content)
    return content


def plain_text(prompt: str | Sequence[ContentBlock]) -> str:
    """The text a person typed: what commands are parsed from and titles are made of."""
    if isinstance(prompt, str):
        return prompt
    return "\n\n".join(block.text for block in prompt if isinstance(block, TextContent))


def _block(block: ContentBlock, index: int, workspace: Path) -> UserContent:
    match block:
        case TextContent(text=text):
            return text
        case ImageContent(data=data, mime_type=mime_type):
            try:
                return BinaryContent(base64.b64decode(data, validate=True), media_type=mime_type)
            except ValueError as error:
                raise ImageNotDecodable(f"prompt[{index}].data is not base64: {error}") from error
        case ResourceLink(uri=uri, range=selection):
            return f"[attached: {_shown(uri, workspace)}{_lines(selection)}]"
        case EmbeddedResource(resource=resource):
            return f'<attached path="{_shown(resource.uri, workspace)}">\n{resource.text}\n</attached>'


def _lines(selection: Range | None) -> str:
    if selection is None:
        return ""
    first, last = selection.start.line + 1, selection.end.line + 1
    return f", line {first}" if first == last else f", lines {first}-{last}"


def _shown(uri: str, workspace: Path) -> str:
    """A `file:` URI as a path, relative to the workspace where it lies inside; any other URI unchanged."""
    path = path_of(uri)
    if path is None:
        return uri
    return str(path.relative_to(workspace)) if path.is_relative_to(workspace) else str(path)
