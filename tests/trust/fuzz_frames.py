"""Damaged frames against the server's real wire, features and sessions, in one process; only the provider is simulated.

Nothing raises, nothing hangs, every request is answered exactly once and no answer is a bug's (FAULTS 49).
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import agent_ls.sessions  # noqa: F401  # what the first server would wait for, and so do other things than the rest
from agent_ls.server import create_host
from agent_ls.wire.framing import Body, BrokenFraming, TooLarge, read_frames
from agent_ls.wire.outbox import Outbox
from tests.simulator import Reply, Simulator
from tests.trust.attack import Row, limited, run_shards
from tests.trust.messages import Messages, check_responses, initialize
from tests.trust.mutation import damaged_bytes

PER_SERVER: Final = 250
"""Frames a server gets before the next one is made: long enough for sessions to meet what earlier frames left."""
_BROKEN_STREAM_IN: Final = 10
_DRAIN_SECONDS: Final = 30.0
_OF_ASYNCIO_RUN: Final = "an error occurred during closing of asynchronous generator"
"""Said when `asyncio.run` tidies up behind a cancelled HTTP response; the server's process ends without that."""


def attack_frames(count: int, seed: str, *, workers: int) -> Row:
    """Send `count` frames, most of them damaged."""
    return run_shards("damaged frames", _shard, count, seed, workers=workers, per_shard=5_000)


class BugLogged(logging.Handler):
    """Fails the attack for an error that the server logged: what it says there is a bug of its own."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if not record.getMessage().startswith(_OF_ASYNCIO_RUN):
            self.records.append(self.format(record))


def _shard(count: int, seed: str) -> Mapping[str, int]:
    logging.disable(logging.WARNING)
    bugs = BugLogged()
    logging.getLogger().addHandler(bugs)
    answered = 0
    try:
        with limited() as attempt, Simulator(otherwise=Reply("Said.")) as simulator, _environment(simulator):
            for start in range(0, count, PER_SERVER):
                attempt()
                answered += _serve(min(PER_SERVER, count - start), f"{seed}/{start}", bugs)
    finally:
        logging.getLogger().removeHandler(bugs)
    return {"answers": answered}


@contextmanager
def _environment(simulator: Simulator) -> Iterator[None]:
    """Of the server's process: the simulated provider, and a home and a working directory of its own."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as home:
        private = {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_DATA_HOME": home, "TMPDIR": home}
        with patch.dict(os.environ, {**simulator.environment, **private}), patch.object(tempfile, "tempdir", home):
            os.chdir(home)
            try:
                yield
            finally:
                os.chdir(before)


def _serve(count: int, seed: str, bugs: BugLogged) -> int:
    """One server's life. Returns how many responses it gave."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder).resolve() / "w"
        workspace.mkdir()
        messages = Messages(chance, workspace)
        bodies = [messages.body() for _ in range(count)]
        try:
            taken, received = asyncio.run(_exchange(workspace, _through_the_stream(chance, bodies), chance))
            assert not bugs.records, bugs.records[:3]
            check_responses(taken, received)
        except BaseException as error:
            error.add_note(f"frames of seed {seed}; the last were {bodies[-3:]!r}")
            raise
    return sum("method" not in message for message in received)


def _through_the_stream(chance: random.Random, bodies: Sequence[bytes]) -> list[bytes]:
    """What the frame reader makes of these bodies when now and then a header is damaged as well."""
    taken: list[bytes] = []
    for body in bodies:
        stream = b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        if not chance.randrange(_BROKEN_STREAM_IN):
            stream = damaged_bytes(chance, stream)
        try:
            frames = list(read_frames(io.BytesIO(stream), max_body=1 << 20))
        except BrokenFraming:
            continue  # here the process ends and the editor starts it again
        taken += [frame.data for frame in frames if isinstance(frame, Body)]
        assert all(isinstance(frame, Body | TooLarge) for frame in frames)
    return taken


async def _exchange(
    workspace: Path, bodies: Sequence[bytes], chance: random.Random
) -> tuple[list[bytes], list[dict[str, Any]]]:
    host = create_host()
    stream = io.BytesIO()
    host.protocol.outbox = outbox = Outbox(stream, on_broken=lambda: None)
    host.protocol.cancel_seconds = 1.0
    outbox.start()
    hello = json.dumps(initialize(workspace)).encode()
    initialized = b'{"jsonrpc":"2.0","method":"initialized","params":{}}'
    bye = b'{"jsonrpc":"2.0","id":"bye","method":"shutdown"}'
    # The first damaged ones come before `initialize`, as a client in disorder sends them.
    early = chance.randrange(3)
    sent = [*bodies[:early], hello, initialized, *bodies[early:], bye]
    for body in sent:
        host.protocol.handle_body(body)
        if not chance.randrange(4):
            await asyncio.sleep(chance.choice((0, 0, 0.001, 0.005)))
    await host.end("exit")
    # As the process does at its end; a run that is cancelled while it begins leaves a task of pydantic-ai's behind.
    for task in (rest := asyncio.all_tasks() - {asyncio.current_task()}):
        task.cancel()
    if rest:
        _, pending = await asyncio.wait(rest, timeout=_DRAIN_SECONDS)
        assert not pending, [(task.get_coro(), task.get_stack()) for task in pending]
    await asyncio.sleep(0)  # what a task that is done answers is not yet said
    assert outbox.drain(_DRAIN_SECONDS)
    frames = read_frames(io.BytesIO(stream.getvalue()))
    return sent, [json.loads(frame.data) for frame in frames if isinstance(frame, Body)]
