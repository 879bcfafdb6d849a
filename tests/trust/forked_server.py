"""Servers without the second that importing takes: forked from a process that has imported everything already.

From its first line the fork is the server as `agent-ls` starts it, with pipes for its standard streams.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, BinaryIO, Final

from tests.e2e.raw_client import RawClient

_PRELOADED: Final = (
    "agent_ls.server",
    "agent_ls.sessions",
    "pydantic_ai.models.openai",
    "pydantic_ai.models.anthropic",
    "tests.trust.kill_server",  # which a fork imports as part of the program that asked for it
)
_context: Final = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(list(_PRELOADED))


class ForkedServer:
    """As much of `subprocess.Popen` as a client needs."""

    def __init__(self, environ: Mapping[str, str], cwd: Path) -> None:
        (child_in, to_child), (from_child, child_out), (from_error, child_error) = (os.pipe() for _ in range(3))
        self.stdin: BinaryIO = os.fdopen(to_child, "wb")
        self.stdout: BinaryIO = os.fdopen(from_child, "rb")
        self.stderr: BinaryIO = os.fdopen(from_error, "rb")
        # Connections, because those know how to hand their descriptors to another process.
        streams = [Connection(each) for each in (child_in, child_out, child_error)]
        self._process = _context.Process(target=_serve, args=(streams, dict(environ), cwd), daemon=True)
        self._process.start()
        for stream in streams:
            stream.close()

    @property
    def pid(self) -> int | None:
        """The process's id."""
        return self._process.pid

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()

    def poll(self) -> int | None:
        """The exit status, None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int | None:
        """The exit status once it has ended; None if it has not within `timeout` seconds."""
        self._process.join(timeout)
        return self._process.exitcode


class ForkedClient(RawClient):
    """A client of a forked server that works in the directory `cwd`."""

    def __init__(self, *, cwd: Path, **options: Any) -> None:
        self.cwd = cwd
        super().__init__(**options)

    def started(self, command: Sequence[str], environ: Mapping[str, str]) -> Any:
        """See `RawClient.started`; the command is not used."""
        return ForkedServer(environ, self.cwd)


def _serve(streams: list[Connection], environ: Mapping[str, str], cwd: Path) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
        stream.close()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    from agent_ls.server import main

    main()
