"""The results of one round share what the window has left (CASCADE §9)."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agent_ls.compaction.text_weight import estimate_text
from agent_ls.tools.output import LongOutputs
from agent_ls.tools.result_room import ResultRoom
from tests.tools.conftest import Bench

PNG = b"\x89PNG\r\n\x1a\n" + bytes(2_000)
LEAST_TOKENS = 60
FRAME_TOKENS = 12


def tokens_of(text: str) -> int:
    return round(estimate_text(text))


def lines(number: int, name: str = "value") -> str:
    return "".join(f"{name}_{line} = compute({line})\n" for line in range(number))


async def test_parallel_results_fit_the_room_together_and_each_leads_to_its_whole_text(bench: Bench) -> None:
    bench.room = 3_000
    for number in range(6):
        (bench.workspace / f"f{number}.txt").write_text(lines(800, f"f{number}"))
    results = await bench.calls([("read_file", {"path": f"f{number}.txt"}) for number in range(6)])
    assert sum(tokens_of(result.content) for result in results) <= 3_000
    for number, result in enumerate(results):
        assert f"f{number}_0 = compute(0)" in result.content
        assert f"f{number}_799 = compute(799)" in result.content
        identifier = re.search(r'recall\(id="(output-\d+)"', result.content)
        assert identifier is not None
        assert f"f{number}_400 = compute(400)" in (bench.environment.long_outputs.read(identifier[1]) or "")


async def test_what_a_short_result_does_not_need_is_left_to_the_long_ones(bench: Bench) -> None:
    bench.mode("bypass")
    bench.room = 3_000
    (bench.workspace / "long.txt").write_text(lines(600))
    short, long = await bench.calls(
        [("run_command", {"command": "echo short"}), ("run_command", {"command": "cat long.txt"})]
    )
    assert "short" in short.content
    assert "left out" not in short.content
    assert tokens_of(long.content) > 2_500


async def test_every_round_has_the_room_of_its_own_moment(bench: Bench) -> None:
    bench.room = 1_000
    (bench.workspace / "long.txt").write_text(lines(600))
    first, second = await bench.calls(
        [("read_file", {"path": "long.txt"})], [("read_file", {"path": "long.txt", "offset": 1})]
    )
    assert 700 < tokens_of(first.content) <= 1_000
    assert 700 < tokens_of(second.content) <= 1_000


async def test_with_no_room_at_all_a_result_is_a_note_and_a_short_one_is_whole(bench: Bench) -> None:
    bench.mode("bypass")
    bench.room = 0
    (bench.workspace / "long.txt").write_text(lines(600))
    long, short = await bench.calls([("read_file", {"path": "long.txt"}), ("run_command", {"command": "exit 3"})])
    assert long.content.strip().startswith("[…")
    assert 'recall(id="output-1"' in long.content
    assert short.content.endswith("[exit code: 3]")


async def test_failures_share_the_room_too(bench: Bench) -> None:
    bench.room = 500
    results = await bench.calls([("read_file", {"path": "no/such/place/" * 300 + str(number)}) for number in range(3)])
    assert {result.outcome for result in results} == {"failed"}
    assert sum(tokens_of(result.content) for result in results) <= 500


async def test_a_picture_without_room_is_named_instead(bench: Bench) -> None:
    (bench.workspace / "a.png").write_bytes(PNG)
    bench.room = 3_000
    [alone] = await bench.calls([("read_file", {"path": "a.png"})])
    assert "no room" not in alone.content
    shown = await bench.calls([("read_file", {"path": "a.png"}), ("read_file", {"path": "a.png"})])
    assert sorted("the window has no room for it" in result.content for result in shown) == [False, True]


@given(st.lists(st.text(max_size=3_000) | st.integers(0, 400).map(lines), max_size=8), st.integers(0, 5_000))
def test_no_round_takes_more_than_its_room_or_a_note_for_each_result(texts: list[str], room: int) -> None:
    shared = ResultRoom(window=lambda: 100_000, room=lambda: room, weigh=tokens_of)
    shared.begin_round(len(texts))
    outputs = LongOutputs(Path("/nonexistent/outputs"))
    taken = 0
    for text in texts:
        share = shared.next_result()
        bounded = outputs.bound(text, share.bounds())
        share.take_text(bounded)
        taken += tokens_of(bounded) + FRAME_TOKENS
    assert taken <= max(room, 0) + len(texts) * (LEAST_TOKENS + FRAME_TOKENS)
