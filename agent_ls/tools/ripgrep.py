"""Runs ripgrep: in its own process, so that no pattern and no tree can stop the server, and it can be killed.

Its regular expressions take linear time, it obeys `.gitignore` without running git (whose configuration a repository
may fill with programs to run), and it comes as a wheel.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sysconfig
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from attrs import frozen

from agent_ls.installation import how_to_add

_MOST_OUTPUT_BYTES: Final = 1024 * 1024
_MOST_ERROR_BYTES: Final = 4 * 1024
_TIMEOUT_SECONDS: Final = 30.0
_CHUNK_BYTES: Final = 64 * 1024
_ENVIRONMENT: Final = ("HOME", "XDG_CONFIG_HOME")
"""Where the user's own ignore file is found; RIPGREP_CONFIG_PATH stays out."""


class RipgrepMissing(Exception):
    """There is no ripgrep on this machine."""


@frozen
class RipgrepResult:
    """What came out. `cut` says why there is more than `output`, None if there is not."""

    output: bytes
    errors: str
    exit_code: int | None
    cut: str | None


async def run_ripgrep(arguments: Sequence[str], cwd: Path, mark: Mapping[str, str]) -> RipgrepResult:
    """Run `rg` with `arguments` in `cwd`; `mark` is added to its environment. Raises RipgrepMissing."""
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        _executable(cwd),
        "--no-config",
        *arguments,
        cwd=cwd,
        env={**environment, **mark},
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,
    )
    cut: str | None = None
    output, errors = bytearray(), bytearray()
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            whole, _ = await asyncio.gather(
                _collect(process.stdout, output, _MOST_OUTPUT_BYTES, process),
                _collect(process.stderr, errors, _MOST_ERROR_BYTES, None),
            )
            await process.wait()
        if not whole:
            cut = "it found too much"
    except TimeoutError:
        cut = f"it took longer than {_TIMEOUT_SECONDS:.0f} s"
    finally:
        _kill(process)
        # The pipes are closed by the kill; waiting keeps the transport from outliving the loop.
        await asyncio.shield(process.wait())
    return RipgrepResult(bytes(output), errors.decode("utf-8", "replace").strip(), process.returncode, cut)


async def _collect(stream: asyncio.StreamReader | None, into: bytearray, limit: int, process: Process | None) -> bool:
    """Read `stream` to its end, keeping `limit` bytes. With `process`, it is killed at the limit. Whether all fit."""
    if stream is None:
        return True
    whole = True
    while chunk := await stream.read(_CHUNK_BYTES):
        into += chunk[: limit - len(into)]
        if len(into) >= limit:
            whole = False
            if process is not None:
                _kill(process)
    return whole


def _kill(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _executable(workspace: Path) -> str:
    """The wheel's `rg`, else one on the PATH; never one that a repository brings along."""
    found = [Path(directory) for directory in os.environ.get("PATH", "").split(os.pathsep) if directory]
    trusted = [directory for directory in found if directory.is_absolute() and not directory.is_relative_to(workspace)]
    searched = os.pathsep.join([sysconfig.get_path("scripts"), *map(str, trusted)])
    executable = shutil.which("rg", path=searched)
    if executable is None:
        raise RipgrepMissing(f"Searching needs ripgrep: `{how_to_add('ripgrep')}`.")
    return executable
