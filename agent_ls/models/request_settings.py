"""The settings every request of a model carries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

if TYPE_CHECKING:
    from pydantic_ai.models.anthropic import AnthropicModelSettings

_LONGEST_OUTPUT_TOKENS: Final = 20_000
"""Below the 21,333 from which the Anthropic SDK insists on streaming."""


def request_settings(model: Model, window: int | None, reserve_fraction: float) -> ModelSettings:
    """Settings fitted to the provider, to the window (tokens, None if unknown) and to the share of it kept free.

    The SDK's hidden retries are off: retries are ours, bounded and visible (DESIGN §5). Anthropic's API wants an output
    allowance, and pydantic-ai's default is the model's maximum, which need not fit beside the prompt; its prompt
    cache has to be asked for, and is set block by block so that compatible gateways understand it too.
    """
    settings = ModelSettings() if "max_retries" in model.unsupported_settings else ModelSettings(max_retries=0)
    if model.system != "anthropic":
        return settings
    largest = model.profile.get("anthropic_max_output_tokens")
    limits = [_LONGEST_OUTPUT_TOKENS]
    limits += [largest] if isinstance(largest, int) else []
    limits += [max(int(window * reserve_fraction), 1)] if window else []
    anthropic = cast("AnthropicModelSettings", settings)
    anthropic["max_tokens"] = min(limits)
    anthropic["anthropic_cache_tool_definitions"] = True
    anthropic["anthropic_cache_instructions"] = True
    anthropic["anthropic_cache_messages"] = True
    return settings


def with_allowance_in(room: int, settings: ModelSettings | None, model: Model) -> ModelSettings | None:
    """One request's settings, with an output allowance, where it names one, of no more than `room` tokens.

    Providers refuse a request whose allowance does not fit the window beside the prompt (Anthropic: "input length and
    `max_tokens` exceed context limit"), however short the answer would be.
    """
    own = settings or ModelSettings()
    allowance = own.get("max_tokens", (model.settings or ModelSettings()).get("max_tokens"))
    if allowance is None or allowance <= room:
        return settings
    return ModelSettings(**{**own, "max_tokens": max(room, 1)})
