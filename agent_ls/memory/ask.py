"""The one thing memory asks of a model: text for a prompt, without tools and without a history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pydantic_ai.models import Model


class Ask(Protocol):
    """Sends one prompt to a model and returns its answer's text, which may be blank. Raises whatever a model does."""

    async def __call__(self, prompt: str, *, max_tokens: int) -> str:
        """`max_tokens` bounds the answer."""


def ask_of(model: Model) -> Ask:
    """The `Ask` of a pydantic-ai model."""
    # pydantic_ai takes a second to import; whoever has a model has paid that already.
    from pydantic_ai.direct import model_request
    from pydantic_ai.messages import ModelRequest
    from pydantic_ai.settings import ModelSettings

    window = model.context_window

    async def ask(prompt: str, *, max_tokens: int) -> str:
        # A small model rambles on to the limit it is given, and an answer must not take the room of the prompt.
        settings = ModelSettings(max_tokens=min(max_tokens, window // 16) if window else max_tokens)
        response = await model_request(model, [ModelRequest.user_text_prompt(prompt)], model_settings=settings)
        return response.text or ""

    return ask
