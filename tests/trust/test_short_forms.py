"""The counted attacks in short, by the code that `scripts/attack` runs in full. A failure names its seed."""

from __future__ import annotations

import secrets

from tests.trust.fuzz_frames import attack_frames
from tests.trust.fuzz_log import attack_logs
from tests.trust.fuzz_server import attack_server_frames
from tests.trust.fuzz_texts import attack_texts
from tests.trust.kill_server import attack_server
from tests.trust.load import attack_with_load


def test_damaged_logs() -> None:
    row = attack_logs(500, secrets.token_hex(4), workers=1)
    assert row.counted["messages found in them"] > 500


def test_damaged_frames() -> None:
    row = attack_frames(750, secrets.token_hex(4), workers=1)
    assert row.counted["answers"] > 300


def test_damaged_texts() -> None:
    row = attack_texts(200, secrets.token_hex(4), workers=1)
    assert row.counted["of memory"] == 50


def test_killed_servers() -> None:
    row = attack_server(5, secrets.token_hex(4), workers=1)
    assert row.counted["refused"] == 0
    assert row.counted["turns answered"] > 0


def test_damaged_frames_to_a_server_process() -> None:
    row = attack_server_frames(200, secrets.token_hex(4), workers=1)
    assert row.counted["answers"] > 50


def test_load() -> None:
    """Order and completeness are asserted inside; times are not."""
    rows = attack_with_load(workspaces=4, updates=800, prompt_bytes=200_000)
    assert [row.counted["other requests"] > 0 for row in rows] == [True, False, True]
