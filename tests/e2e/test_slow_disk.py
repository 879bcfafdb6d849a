"""A disk whose fsync takes its time holds up the turn that waits for it, and nobody else (DESIGN §4)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.e2e.conftest import StartServer
from tests.simulator import Reply, Simulator

_SERVER = """
import sys
from pathlib import Path
from agent_ls.cli.main import main
from agent_ls.disk.files import OperatingSystemFiles

sync, gate = OperatingSystemFiles.sync, Path(sys.argv.pop(1))

def slow_once(files, descriptor):
    OperatingSystemFiles.sync = sync
    gate.read_bytes()  # until somebody has opened it and closed it again
    sync(files, descriptor)

OperatingSystemFiles.sync = slow_once
sys.exit(main())
"""


def test_a_slow_disk_holds_up_its_turn_alone(start_server: StartServer, workspace: Path, tmp_path: Path) -> None:
    gate, other = tmp_path / "gate", tmp_path / "other"
    os.mkfifo(gate)
    other.mkdir()
    command = (sys.executable, "-c", _SERVER, str(gate), "--stdio")
    with Simulator(replies=[Reply("Slow."), Reply("Quick.")]) as simulator:
        client = start_server(simulator, command=command, settings={"memoryCompressionEnabled": False})
        slow = client.start_request("agent/prompt", {"prompt": "one"})
        with gate.open("wb"):  # opens when the server waits for the disk
            assert client.request("agent/status")["protocolVersion"] == 1
            assert client.request("agent/prompt", {"prompt": "two", "workspace": str(other)})["text"] == "Quick."
            (session,) = client.request("agent/sessions", {"workspace": str(workspace)})["sessions"]
            assert (
                client.error("agent/prompt", {"prompt": "three", "workspace": str(workspace)})["data"]["kind"]
                == "sessionBusy"
            )
            client.notify("agent/cancel", {"sessionId": session["sessionId"]})
            assert client.request("agent/status")["protocolVersion"] == 1
            assert not [message for message in client.messages if message.get("id") == slow]
        result = client.response(slow)["result"]
        assert (result["stopReason"], result["text"]) == ("end_turn", "Slow.")
        assert client.shut_down() == 0


def test_a_disk_that_hangs_does_not_keep_the_server_alive(start_server: StartServer, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    command = (sys.executable, "-c", _SERVER, str(gate), "--stdio")
    with Simulator(replies=[Reply("Slow.")]) as simulator:
        client = start_server(simulator, command=command, settings={"memoryCompressionEnabled": False})
        client.start_request("agent/prompt", {"prompt": "one"})
        with gate.open("wb"):
            assert client.request("shutdown") is None
        client.notify("exit")
        assert client.process.wait(30) == 0
