"""Damaged frames to a server process over its pipes: it answers what it owes, stays alive, and its memory is bounded.

A damaged Content-Length ends the process by contract, so here headers are whole; `fuzz_frames` damages those too.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.e2e.raw_client import RawClient
from tests.simulator import Reply, Simulator
from tests.trust.attack import Row, limited, rss_bytes, run_shards
from tests.trust.forked_server import ForkedClient
from tests.trust.messages import Messages, initialize, owed

_PER_SERVER: Final = 1_000
_BURST: Final = 50
_MOST_RSS_BYTES: Final = 1 << 30


def attack_server_frames(count: int, seed: str, *, workers: int) -> Row:
    """Send `count` frames."""
    return run_shards("damaged frames to a process", _shard, count, seed, workers=workers, per_shard=_PER_SERVER)


def _shard(count: int, seed: str) -> Mapping[str, int]:
    chance = random.Random(seed)
    with TemporaryDirectory() as name, Simulator(otherwise=Reply("Said.")) as simulator, limited() as attempt:
        workspace = Path(name).resolve() / "w"
        workspace.mkdir()
        messages = Messages(chance, workspace, shutdowns=False)
        with ForkedClient(environ=simulator.environment, home=Path(name) / "home", cwd=workspace) as client:
            client.send(initialize(workspace))
            client.response("hello")
            client.notify("initialized", {})
            try:
                for start in range(0, count, _BURST):
                    attempt()
                    _burst(client, messages, min(_BURST, count - start))
                most = rss_bytes(client.process.pid)
                assert most < _MOST_RSS_BYTES
                assert client.shut_down() == 0
            except BaseException as error:
                error.add_note(f"server frames of seed {seed}: {client.stderr[-2000:]!r}")
                raise
        assert b"Traceback" not in client.stderr, client.stderr[-3000:]
    return {"answers": sum("method" not in each for each in client.messages)}


def _burst(client: RawClient, messages: Messages, count: int) -> None:
    """Some frames at once, then all that they are owed."""
    bodies = [messages.body() for _ in range(count)]
    for body in bodies:
        client.send_body(body)
    waiting = owed(bodies)
    while waiting.total():
        message = client.wait_for(lambda each: "method" not in each)
        assert waiting[message["id"]] > 0, message
        assert message.get("error", {}).get("code") != -32603, message
        waiting -= Counter([message["id"]])
