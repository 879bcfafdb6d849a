"""Which source wins, what is refused and what is warned about (DESIGN §8)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_ls.errors import SettingsInvalid
from agent_ls.settings import LiveSettings, resolve, user_config_file


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def test_later_sources_win_and_each_origin_is_named(user_file: Path) -> None:
    user_file.write_text(
        "memory_max_lines = 10\nmemory_max_bytes = 11\ncompaction_keep_recent_tokens = 12\nlog_level = 'debug'"
    )
    effective = resolve(
        user_file=user_file,
        environ={"AGENT_LS_MEMORY_MAX_BYTES": "21", "AGENT_LS_COMPACTION_KEEP_RECENT_TOKENS": "22"},
        initialization={"compactionKeepRecentTokens": 32, "logLevel": "error"},
        configuration={"logLevel": "warning"},
    )
    settings = effective.settings
    assert (settings.memory_max_lines, settings.memory_max_bytes) == (10, 21)
    assert (settings.compaction_keep_recent_tokens, settings.log_level) == (32, "warning")
    assert effective.origins["memory_max_lines"] == str(user_file)
    assert effective.origins["memory_max_bytes"] == "the environment (AGENT_LS_MEMORY_MAX_BYTES)"
    assert effective.origins["compaction_keep_recent_tokens"] == "initializationOptions.settings"
    assert effective.origins["log_level"] == "the editor's configuration"
    assert effective.origins["model"] == "default"
    assert not effective.messages


def test_a_window_set_to_the_default_number_is_still_set(user_file: Path) -> None:
    user_file.write_text("compaction_context_window_tokens = 1_048_576")
    assert resolve(user_file=user_file).settings.compaction_context_window_tokens == 1_048_576
    assert resolve(user_file=user_file).is_set("compaction_context_window_tokens")
    assert not resolve().is_set("compaction_context_window_tokens")


@pytest.mark.parametrize(
    ("text", "value"), [("false", False), ("OFF", False), ("0", False), ("yes", True), ("1", True), (" true ", True)]
)
def test_the_environment_spells_flags(text: str, value: bool) -> None:
    assert resolve(environ={"AGENT_LS_COMPACTION_ENABLED": text}).settings.compaction_enabled is value


def test_an_empty_variable_is_not_set() -> None:
    effective = resolve(environ={"AGENT_LS_MODEL": "", "AGENT_LS_COMPACTION_ENABLED": " "})
    assert not effective.messages
    assert not effective.is_set("model")


def test_null_from_an_editor_leaves_the_earlier_source() -> None:
    effective = resolve(environ={"AGENT_LS_MODEL": "openai:gpt-5"}, configuration={"model": None})
    assert effective.settings.model == "openai:gpt-5"
    assert not effective.messages


def test_a_bad_value_is_refused_with_name_value_rule_and_source_and_the_others_count() -> None:
    effective = resolve(
        environ={"AGENT_LS_MEMORY_MAX_LINES": "many"},
        initialization={"memoryMaxLines": "300", "memoryMaxBytes": 300},
    )
    by_environment, by_editor = effective.refused
    assert by_environment.source == "the environment (AGENT_LS_MEMORY_MAX_LINES)"
    assert (by_editor.name, by_editor.value) == ("memoryMaxLines", "300")
    for part in ("memoryMaxLines", "'300'", "whole number of lines", "initializationOptions.settings"):
        assert part in by_editor.message
    assert (effective.settings.memory_max_lines, effective.settings.memory_max_bytes) == (200, 300)


def test_reserves_that_agree_only_together_are_taken_from_two_sources(user_file: Path) -> None:
    user_file.write_text("compaction_reserve_fraction = 0.5")
    effective = resolve(user_file=user_file, environ={"AGENT_LS_MICROCOMPACTION_RESERVE_FRACTION": "0.6"})
    assert not effective.refused
    assert effective.settings.compaction_reserve_fraction == 0.5


def test_reserves_that_contradict_are_refused_in_the_latest_source(user_file: Path) -> None:
    user_file.write_text("microcompaction_reserve_fraction = 0.3")
    effective = resolve(user_file=user_file, configuration={"compactionReserveFraction": 0.35})
    (refused,) = effective.refused
    assert (refused.name, refused.source) == ("compactionReserveFraction", "the editor's configuration")
    assert effective.settings.compaction_reserve_fraction == 0.20
    assert effective.settings.microcompaction_reserve_fraction == 0.3


def test_both_reserves_refused_falls_back_to_the_earlier_source(user_file: Path) -> None:
    user_file.write_text("microcompaction_reserve_fraction = 0.3\ncompaction_reserve_fraction = 0.1")
    effective = resolve(
        user_file=user_file,
        configuration={"microcompactionReserveFraction": 0.05, "compactionReserveFraction": 0.9},
    )
    assert len(effective.refused) == 2
    assert effective.settings.microcompaction_reserve_fraction == 0.3
    assert effective.settings.compaction_reserve_fraction == 0.1


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"compactionEnable": True}, "did you mean 'compactionEnabled'"),
        ({"compaction_enabled": True}, "did you mean 'compactionEnabled'"),
        ({"zzz": True}, "it is ignored"),
    ],
)
def test_an_unknown_key_is_warned_about_by_name(given: dict[str, object], hint: str) -> None:
    (warning,) = resolve(configuration=given).warnings
    assert repr(next(iter(given))) in warning
    assert hint in warning


def test_camel_case_in_the_user_s_file_is_unknown_there(user_file: Path) -> None:
    user_file.write_text("memoryMaxLines = 3")
    (warning,) = resolve(user_file=user_file).warnings
    assert "did you mean 'memory_max_lines'" in warning


def test_a_key_is_no_setting_and_is_never_repeated(user_file: Path) -> None:
    user_file.write_text("openai_api_key = 'sk-very-secret'")
    (warning,) = resolve(user_file=user_file).messages
    assert "keys are no settings" in warning
    assert "sk-very-secret" not in warning


@pytest.mark.parametrize("content", [b"model = ", b"\xff\xfe", b"x" * 1_000_001], ids=["syntax", "encoding", "size"])
def test_an_unreadable_file_is_refused_and_the_defaults_stand(user_file: Path, content: bytes) -> None:
    user_file.write_bytes(content)
    effective = resolve(user_file=user_file)
    (refused,) = effective.refused
    assert refused.source == str(user_file)
    assert effective.settings.model is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_the_file_s_place_does_not_block(user_file: Path) -> None:
    os.mkfifo(user_file)
    assert "not a regular file" in resolve(user_file=user_file).refused[0].message


def test_a_user_file_nested_too_deep_is_refused(user_file: Path) -> None:
    user_file.write_text("model = " + "[" * 9_000)
    assert "cannot be read" in resolve(user_file=user_file).refused[0].message


@pytest.mark.parametrize("given", [[], "x", 3, True])
def test_settings_that_are_no_object_are_refused(given: object) -> None:
    assert resolve(initialization=given).refused[0].rule == "must be an object"


def test_fault_52_nothing_in_the_workspace_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("config.toml", ".env", "agent_ls.toml", ".agent_ls/config.toml", ".agent_ls/settings.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('permission_mode = "bypass"\nAGENT_LS_PERMISSION_MODE=bypass\n')
    monkeypatch.chdir(tmp_path)
    live = LiveSettings.of_this_process()
    assert live.current.permission_mode == "ask"
    assert not user_config_file().is_relative_to(tmp_path)


def test_a_refused_change_leaves_everything_as_it_was() -> None:
    live = LiveSettings(None, {})
    live.update_configuration({"memoryMaxLines": 50})
    with pytest.raises(SettingsInvalid, match="memoryMaxLines"):
        live.update_configuration({"memoryMaxLines": -1, "memoryMaxBytes": 7})
    assert (live.current.memory_max_lines, live.current.memory_max_bytes) == (50, 25_000)
    live.update_configuration({})
    assert live.current.memory_max_lines == 200


def test_a_change_is_seen_by_the_next_question_and_unknown_keys_are_told() -> None:
    live = LiveSettings(None, {})
    effective = live.update_configuration({"agentLs": {"compactionEnabled": False, "nonsense": 1}})
    assert live.current.compaction_enabled is False
    assert "'nonsense'" in effective.warnings[0]


def test_a_change_is_not_refused_for_what_another_source_had_wrong_before() -> None:
    live = LiveSettings(None, {"AGENT_LS_MEMORY_MAX_LINES": "many"})
    live.update_configuration({"memoryMaxBytes": 7})
    assert live.current.memory_max_bytes == 7


def test_the_user_s_file_is_read_again_when_it_changed_and_a_bad_one_changes_nothing_but_says_why(
    user_file: Path,
) -> None:
    live = LiveSettings(user_file, {})
    user_file.write_text("memory_max_lines = 9")
    assert live.reread_user_file().settings.memory_max_lines == 9
    assert live.current.memory_max_lines == 9
    user_file.write_text("memory_max_lines = 'nine'\nmemory_max_bytes = 5")
    (refused,) = live.reread_user_file().refused
    assert (refused.value, refused.source) == ("nine", str(user_file))
    assert (live.current.memory_max_lines, live.current.memory_max_bytes) == (9, 25_000)
    user_file.write_text("memory_max_bytes = 5")
    assert not live.reread_user_file().refused
    assert (live.current.memory_max_lines, live.current.memory_max_bytes) == (200, 5)


def test_fixed_settings_name_their_origin() -> None:
    live = LiveSettings.fixed(memory_max_lines=3)
    assert live.current.memory_max_lines == 3
    assert live.effective.is_set("memory_max_lines")
    assert not live.effective.is_set("model")
