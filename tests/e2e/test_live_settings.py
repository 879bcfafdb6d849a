"""Settings that change while the server runs (DESIGN §8), seen from the wire."""

from pathlib import Path

from tests.e2e.conftest import StartServer
from tests.simulator import Reply, Simulator


def test_a_changed_user_file_counts_from_the_next_turn_and_a_bad_one_is_said_until_it_is_mended(
    start_server: StartServer, tmp_path: Path
) -> None:
    file = tmp_path / "home" / "agent-ls" / "config.toml"
    file.parent.mkdir(parents=True)
    with Simulator(replies=[Reply("One."), Reply("Two."), Reply("Three.")]) as simulator:
        client = start_server(simulator, environ={"AGENT_LS_MEMORY_COMPRESSION_ENABLED": "false"})
        file.write_text("compaction_context_window_tokens = 50_000\n")
        gauge = client.request("agent/prompt", {"prompt": "One?"})["gauge"]
        assert gauge["window"] == 50_000
        assert not gauge["warnings"]

        file.write_text("compaction_context_window_tokens = 'plenty'\n")
        gauge = client.request("agent/prompt", {"prompt": "Two?"})["gauge"]
        assert gauge["window"] == 50_000
        (warning,) = gauge["warnings"]
        assert "compaction_context_window_tokens" in warning["message"]
        assert "plenty" in warning["message"]

        file.write_text("compaction_context_window_tokens = 60_000\n")
        gauge = client.request("agent/prompt", {"prompt": "Three?"})["gauge"]
        assert gauge["window"] == 60_000
        assert not gauge["warnings"]
