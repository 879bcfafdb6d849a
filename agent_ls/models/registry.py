"""Model name -> a model that can be asked (DESIGN §8).

Names are pydantic-ai's (`anthropic:claude-sonnet-5-5`, `openai:gpt-6.1-sol`), and `local`. Keys and base URLs come from
the environment of the process alone: nothing in a workspace can point the model elsewhere (DESIGN §6).
"""

from __future__ import annotations

import difflib
import logging
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, Protocol, cast
from urllib.parse import urlsplit

from attrs import field, frozen
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model, infer_model, known_model_names
from pydantic_ai.providers import Provider, infer_provider, infer_provider_class
from pydantic_ai.settings import ModelSettings

from agent_ls import local_model
from agent_ls.errors import ModelUnavailable
from agent_ls.installation import how_to_add
from agent_ls.models.mending import MendingModel
from agent_ls.models.request_settings import request_settings
from agent_ls.redaction import redacted

logger = logging.getLogger(__name__)

LOCAL: Final = "local"


@frozen
class _Family:
    """A provider agent_ls has an extra for."""

    extra: str
    keys: tuple[str, ...]
    base_url: str
    default_model: str


_FAMILIES: Final[Mapping[str, _Family]] = {
    "anthropic": _Family("anthropic", ("ANTHROPIC_API_KEY",), "ANTHROPIC_BASE_URL", "anthropic:claude-sonnet-5-5"),
    "openai": _Family("openai", ("OPENAI_API_KEY",), "OPENAI_BASE_URL", "openai:gpt-6.1-sol"),
    "google": _Family("google", ("GOOGLE_API_KEY", "GEMINI_API_KEY"), "GOOGLE_BASE_URL", "google:gemini-3.8-flash"),
}
"""In the order in which a default is looked for."""

_FAMILY_OF_PROVIDER: Final[Mapping[str, str]] = {
    "anthropic": "anthropic",
    "openai": "openai",
    "openai-chat": "openai",
    "openai-responses": "openai",
    "google": "google",
}


@frozen
class ResolvedModel:
    """A model ready to be asked, its requests' settings built in.

    `window`: its input window in tokens as pydantic-ai knows it, None if nobody does.
    `offers_tools`: False for a model that cannot call tools; offering them would only cost it room.
    """

    model: Model
    name: str
    window: int | None
    offers_tools: bool = True
    _free_of_charge: bool = field(default=False, alias="free_of_charge")
    _on_close: Callable[[], Awaitable[None]] | None = field(default=None, alias="on_close")

    async def aclose(self) -> None:
        """Close the connections to the provider; of a shared model (`open_model`) those that nobody else uses."""
        if self._on_close is not None:
            await self._on_close()
            return
        async with self.model:
            # Leaving is what closes: pydantic-ai's models open their client when they are built, not when entered.
            pass

    def cost(self, response: ModelResponse) -> Decimal | None:
        """What the response cost in USD, None where no price is known or the provider sent no usage."""
        if self._free_of_charge:
            return Decimal(0)
        if response.usage.cost is not None:
            return response.usage.cost
        try:
            return response.cost().total_price
        # LookupError: no price known. ValueError: no usage. AssertionError: the provider named no model.
        except (LookupError, ValueError, AssertionError):
            return None


def default_model_name(environ: Mapping[str, str] = os.environ) -> str:
    """The model when the setting `model` is unset: of the first provider with a key, else `local` where installed.

    Raises ModelUnavailable, naming every choice, if there is neither.
    """
    for family in _FAMILIES.values():
        if any(environ.get(key) for key in family.keys):
            return family.default_model
    if local_model.is_installed():
        return LOCAL
    choices = [f"{' or '.join(family.keys)} for {family.default_model}" for family in _FAMILIES.values()]
    raise ModelUnavailable(
        "No model is configured. Set one of these in the environment agent-ls starts in: "
        f"{'; '.join(choices)}; or set `model` to any pydantic-ai model name with that provider's key; or, "
        f"for the small offline model without a key: {local_model.how_to_install()}.",
    )


def resolve_model(
    name: str | None,
    *,
    environ: Mapping[str, str] = os.environ,
    window: int | None = None,
    reserve_fraction: float = 0.20,
) -> ResolvedModel:
    """Build the model of this name; None or blank: the default. Blocking, for seconds when an SDK is imported first.

    `window` is the user's window setting where set, `reserve_fraction` the share of it compaction keeps free: where the
    provider wants an output allowance, it is fitted into that share of the smaller window.
    Raises ModelUnavailable with what to do for a missing key or package and for a name nobody knows.
    """
    wanted = (name or "").strip() or default_model_name(environ)
    if wanted == LOCAL:
        return _resolve_local()
    provider_name, _, model_name = wanted.partition(":")
    if not model_name or not provider_name:
        raise _unknown(wanted)
    family = _FAMILIES.get(_FAMILY_OF_PROVIDER.get(provider_name, ""))
    try:
        infer_provider_class(provider_name)
        provider = _provider(provider_name, family, wanted, environ)
        bare = infer_model(_wire_name(wanted, environ), lambda _: provider)
        known = min((size for size in (bare.context_window, window) if size), default=None)
        model = _with_settings(bare, provider, request_settings(bare, known, reserve_fraction))
    except ValueError as error:
        # infer_provider_class raises it for a provider it does not know.
        raise _unknown(wanted) from error
    except ImportError as error:
        raise _missing_package(wanted, family, error) from error
    except UserError as error:
        raise _refused(wanted, error) from error
    logger.info("model %s: %s, window %s", wanted, type(model).__name__, model.context_window or "unknown")
    return ResolvedModel(model=MendingModel(model), name=wanted, window=model.context_window)


def about_its_key(wanted: str, environ: Mapping[str, str] = os.environ) -> str:
    """A sentence for a person on the key of a model that was resolved, never the key itself."""
    family = _FAMILIES.get(_FAMILY_OF_PROVIDER.get(wanted.partition(":")[0], ""))
    if family is None:
        return "What its provider needs is set; whether its key is valid, the first answer tells."
    if any(environ.get(key) for key in family.keys):
        return "Its key is there; whether it is valid, the first answer tells."
    return f"No key is set ({' or '.join(family.keys)}): the server at {family.base_url} must be one that wants none."


def _resolve_local() -> ResolvedModel:
    if not local_model.is_installed():
        raise ModelUnavailable(f"The model `local` is not installed. To install it: {local_model.how_to_install()}.")
    try:
        from agent_ls.models.local import LocalModel
    except ImportError as error:
        raise _missing_package(LOCAL, None, error) from error
    model = LocalModel.build()
    return ResolvedModel(
        model=MendingModel(model), name=LOCAL, window=model.context_window, offers_tools=False, free_of_charge=True
    )


def _wire_name(wanted: str, environ: Mapping[str, str]) -> str:
    """pydantic-ai takes `openai:` for the Responses API, which servers behind a base URL of their own rarely speak.

    There Chat Completions is used instead; `openai-responses:` asks for the other one explicitly.
    """
    if wanted.startswith("openai:") and environ.get("OPENAI_BASE_URL"):
        return wanted.replace("openai:", "openai-chat:", 1)
    return wanted


def _provider(name: str, family: _Family | None, wanted: str, environ: Mapping[str, str]) -> Provider[Any]:
    """The provider with key and base URL from `environ`. pydantic-ai's other providers read the process's own."""
    if family is None:
        return infer_provider(name)
    key = next((environ[key] for key in family.keys if environ.get(key)), None)
    base_url = _address(family, wanted, environ)
    if key is None and base_url is None:
        raise ModelUnavailable(
            f"{wanted} needs an API key: set {' or '.join(family.keys)} in the environment agent-ls starts in, "
            "or choose another `model`.",
        )
    # A server of one's own often wants no key; the SDKs want a text.
    key = key or "api-key-not-set"
    match family.extra:
        case "anthropic":
            from pydantic_ai.providers.anthropic import AnthropicProvider

            return AnthropicProvider(api_key=key, base_url=base_url)
        case "openai":
            from pydantic_ai.providers.openai import OpenAIProvider

            return OpenAIProvider(api_key=key, base_url=base_url)
        case _:
            from pydantic_ai.providers.google import GoogleProvider

            return GoogleProvider(api_key=key, base_url=base_url)


def _address(family: _Family, wanted: str, environ: Mapping[str, str]) -> str | None:
    """The provider's base URL where one is set. Raises ModelUnavailable for one that no client can connect to."""
    address = environ.get(family.base_url)
    if not address:
        return None
    try:
        parts = urlsplit(address)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return address
        reason = "it"
    except ValueError as error:  # a port that is no number, half an IPv6 address
        reason = f"{error}; it"
    raise ModelUnavailable(
        f"{wanted} cannot be reached at the {family.base_url} of the environment, {redacted(address)!r}: "
        f"{redacted(reason)} has to look like https://host:8080/v1.",
    )


class _ModelClass(Protocol):
    """How every pydantic-ai model class is called; its base class does not declare it."""

    def __call__(self, model_name: str, *, provider: Provider[Any], settings: ModelSettings) -> Model: ...


def _with_settings(bare: Model, provider: Provider[Any], settings: ModelSettings) -> Model:
    """The same model with default settings: `infer_model` takes none, and they depend on the model it finds."""
    return cast(_ModelClass, type(bare))(bare.model_name, provider=provider, settings=settings)


def _unknown(wanted: str) -> ModelUnavailable:
    close = _close_names(wanted)
    guess = f" Did you mean {' or '.join(close)}?" if close else ""
    return ModelUnavailable(
        f"Unknown model {wanted!r}.{guess} Names look like `anthropic:claude-sonnet-5-5`; `local` is the offline one.",
        hint="https://ai.pydantic.dev/models/ lists the providers.",
    )


def _close_names(wanted: str) -> Sequence[str]:
    """Known names like this one: whole names first, then those that only lack (or mistype) the provider."""
    twins = ("gateway/", "openai-chat:", "openai-decisions:", "test")
    known = [name for name in (*known_model_names(), LOCAL) if not name.startswith(twins)]
    if close := difflib.get_close_matches(wanted, known, n=2, cutoff=0.8):
        return close
    by_model = {name.partition(":")[2]: name for name in reversed(known)}
    close = difflib.get_close_matches(wanted.rpartition(":")[2], by_model, n=2, cutoff=0.75)
    return [by_model[model] for model in close]


def _missing_package(wanted: str, family: _Family | None, error: ImportError) -> ModelUnavailable:
    if wanted == LOCAL:
        requirement = "agent-ls[local]"
    elif family is not None:
        requirement = f"agent-ls[{family.extra}]"
    else:
        # pydantic-ai's message names its own extra: pip install "pydantic-ai-slim[groq]".
        named = re.search(r"pydantic-ai-slim\[[\w-]+\]", str(error))
        requirement = named[0] if named else f"pydantic-ai-slim[{wanted.partition(':')[0]}]"
    return ModelUnavailable(
        f"{wanted} needs a package that is not installed: run `{how_to_add(requirement)}`.",
        # pydantic-ai's own advice is a second command, for another installation than this one.
        hint=None if "pip install" in str(error) else redacted(str(error)),
    )


def _refused(wanted: str, error: UserError) -> ModelUnavailable:
    """What pydantic-ai lacks to build a provider is nearly always one environment variable, which it names."""
    variables = re.findall(r"`([A-Z][A-Z0-9_]{3,})`", str(error))
    if not variables:
        return ModelUnavailable(f"The model {wanted} cannot be used: {redacted(str(error))}")
    return ModelUnavailable(
        f"{wanted} needs {variables[0]}: set it in the environment agent-ls starts in, or choose another `model`.",
    )
