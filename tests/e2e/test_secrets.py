"""Keys: searched, in every byte the server writes and says, in any of the forms an error may repeat them in."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.e2e.conftest import StartServer
from tests.e2e.raw_client import Json, RawClient
from tests.simulator import Failure, Interruption, Outcome, Reply, Simulator

KEY = "sk-sim-canary-9f1c8e/22+77"
PASSWORD = "canary-pass/word-51"  # what is searched for
MODELS = {"openai": "openai-chat:gpt-5", "anthropic": "anthropic:claude-sonnet-5-5"}
QUIET = {"AGENT_LS_MEMORY_COMPRESSION_ENABLED": "false", "AGENT_LS_LOG_LEVEL": "debug"}


def forms(secret: str) -> Iterator[bytes]:
    """How a key may stand in a text: as it is, in a URL, escaped in JSON, in credentials."""
    data = secret.encode()
    yield from (data, quote(secret).encode(), quote(secret, safe="").encode(), json.dumps(secret)[1:-1].encode())
    yield from (base64.b64encode(bytes(offset) + data)[4:-4] for offset in range(3))


def assert_nowhere(secret: str, client: RawClient, folder: Path) -> None:
    """Not in a file below `folder`, nor a file's name, nor in anything the server said."""
    names = "\n".join(map(str, folder.rglob("*"))).encode()
    written = b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    said = json.dumps(client.messages, ensure_ascii=False).encode() + bytes(client.stderr)
    assert len(said) > 500, "nothing was said: the search would prove nothing"
    for form in forms(secret):
        assert form not in written + names + said


def failed(client: RawClient) -> Json:
    """What a prompt came to. It is cancelled where the server would wait and try again: that was said by then."""
    number = client.start_request("agent/prompt", {"prompt": "Hello."})

    def told(message: Json) -> bool:
        return message.get("id") == number or bool(message.get("params", {}).get("warnings"))

    message = client.wait_for(told)
    if "id" not in message:
        client.notify("agent/cancel", {"sessionId": message["params"]["sessionId"]})
        message = client.response(number)
    return message


def keys(**more: str) -> dict[str, str]:
    return {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, **QUIET, **more}


ECHOES: dict[str, Outcome] = {
    "401": Failure(401, f"Incorrect API key provided: {KEY}."),
    "400": Failure(400, f"Header Authorization: Bearer {KEY} is not valid here"),
    "429, again and again": Failure(429, f"Rate limit of {KEY} reached", headers={"retry-after": "0"}),
    "500, a page": Failure(500, body=f"<pre>Authorization: Basic {base64.b64encode(KEY.encode()).decode()}</pre>"),
    "in the stream": Reply("Half an", interruption=Interruption("error", 2, error_message=f"{KEY} is overloaded")),
}


@pytest.mark.parametrize("outcome", ECHOES.values(), ids=ECHOES)
@pytest.mark.parametrize("provider", MODELS)
def test_a_key_that_a_provider_repeats_is_said_to_nobody(
    start_server: StartServer, tmp_path: Path, provider: str, outcome: Outcome
) -> None:
    with Simulator(otherwise=outcome) as simulator:
        client = start_server(simulator, model=MODELS[provider], environ=keys())
        response = failed(client)
        assert "[redacted]" in json.dumps(client.messages) + client.stderr.decode(), response
        client.request("agent/status")
        client.shut_down()
        assert {KEY in str(each.headers) for each in simulator.requests} == {True}
    assert_nowhere(KEY, client, tmp_path)


ADDRESSES = {
    "nobody listens": "http://me:{password}@127.0.0.1:9/v1",
    "no such host": "http://me:{password}@no-such-host.invalid/v1",
    "no address": "http://me:{password}@[127.0.0.1/v1",
    "no port": "http://me:{password}@127.0.0.1:port/v1",
}


@pytest.mark.parametrize("address", ADDRESSES.values(), ids=ADDRESSES)
@pytest.mark.parametrize("provider", MODELS)
def test_a_password_in_an_address_is_said_to_nobody(
    start_server: StartServer, tmp_path: Path, provider: str, address: str
) -> None:
    base = address.format(password=quote(PASSWORD, safe=""))
    environ = keys(OPENAI_BASE_URL=base, ANTHROPIC_BASE_URL=base)
    with Simulator() as simulator:
        client = start_server(simulator, model=MODELS[provider], environ=environ)
        failed(client)
        client.request("agent/status")
        client.shut_down()
    assert_nowhere(PASSWORD, client, tmp_path)


def test_a_key_is_not_in_what_the_cascade_and_the_memory_write(
    start_server: StartServer, workspace: Path, tmp_path: Path
) -> None:
    with Simulator(otherwise=Reply("## Goal\nNothing.")) as simulator:
        client = start_server(simulator, environ=keys(AGENT_LS_MEMORY_COMPRESSION_ENABLED="true"))
        for prompt in ("Hello.", "/compact", "/context", "/status", "Again."):
            client.response(client.start_request("agent/prompt", {"prompt": prompt}))
        client.shut_down()
        assert len(simulator.requests) > 2
    assert_nowhere(KEY, client, tmp_path)
    log = next((workspace / ".agent_ls").rglob("*.jsonl"))
    for command in (["doctor", "--workspace", str(workspace)], ["doctor", "--json"], ["inspect", str(log)]):
        assert not set(forms(KEY)) & set(_found(command, workspace, tmp_path))


def _found(command: Sequence[str], workspace: Path, home: Path) -> Iterator[bytes]:
    """The forms of the key in what a command prints."""
    environ: dict[str, Any] = {"HOME": str(home), "PATH": "/usr/bin:/bin", **keys()}
    ran = subprocess.run(
        [sys.executable, "-m", "agent_ls", *command], env=environ, cwd=workspace, capture_output=True, check=False
    )
    printed = ran.stdout + ran.stderr
    assert printed
    yield from (form for form in forms(KEY) if form in printed)
