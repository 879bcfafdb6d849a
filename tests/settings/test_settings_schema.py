"""Settings are valid by construction, and their published forms are made from them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.errors import SettingsInvalid
from agent_ls.settings import Settings
from agent_ls.settings.published import json_schema, markdown_table
from agent_ls.settings.schema import CAMEL_NAMES, FIELDS

DESIGN_DEFAULTS: dict[str, Any] = {
    "compaction_enabled": True,
    "compaction_reserve_fraction": 0.20,
    "microcompaction_reserve_fraction": 0.40,
    "compaction_keep_recent_tokens": 20_000,
    "memory_max_lines": 200,
    "memory_compression_enabled": True,
    "compaction_model": None,
    "compaction_mid_turn": True,
    "compaction_keep_user_tokens": 8_000,
    "microcompaction_min_reclaim_fraction": 0.02,
    "max_requests_per_turn": 100,
    "permission_mode": "ask",
    "memory_max_bytes": 25_000,
    "shell_timeout_seconds": 120,
}


def test_the_defaults_are_those_of_design_8() -> None:
    settings = Settings()
    assert {name: getattr(settings, name) for name in DESIGN_DEFAULTS} == DESIGN_DEFAULTS
    assert settings.compaction_context_window_tokens is None  # unset: 1_048_576 or the model's smaller one


def test_settings_cannot_be_changed_in_place() -> None:
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        Settings().memory_max_lines = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("memory_max_lines", 0),
        ("memory_max_lines", "200"),
        ("memory_max_lines", True),
        ("memory_max_lines", 200.0),
        ("compaction_enabled", 1),
        ("compaction_enabled", "true"),
        ("compaction_reserve_fraction", 0),
        ("compaction_reserve_fraction", 1.0),
        ("compaction_reserve_fraction", float("nan")),
        ("microcompaction_reserve_fraction", True),
        ("compaction_context_window_tokens", 0),
        ("compaction_context_window_tokens", "1_000"),
        ("compaction_keep_recent_tokens", -1),
        ("permission_mode", "readonly"),
        ("permission_mode", None),
        ("log_level", "loud"),
        ("model", ""),
        ("model", "a\x1b[31m"),
        ("shell_timeout_seconds", 0),
    ],
)
def test_a_value_that_breaks_its_rule_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(SettingsInvalid) as caught:
        Settings(**{name: value})  # type: ignore[arg-type]
    assert (caught.value.name, caught.value.value is value or caught.value.value == value) == (name, True)
    assert caught.value.rule in caught.value.message


@pytest.mark.parametrize(("micro", "full"), [(0.2, 0.2), (0.1, 0.5)])
def test_the_micro_reserve_must_exceed_the_full_reserve(micro: float, full: float) -> None:
    with pytest.raises(SettingsInvalid, match="greater than compaction_reserve_fraction"):
        Settings(microcompaction_reserve_fraction=micro, compaction_reserve_fraction=full)


def test_zero_is_a_reclaim_fraction_and_zero_tokens_may_be_kept() -> None:
    settings = Settings(microcompaction_min_reclaim_fraction=0, compaction_keep_recent_tokens=0)
    assert settings.microcompaction_min_reclaim_fraction == 0


def test_camel_names_are_distinct_and_match_design_8() -> None:
    assert CAMEL_NAMES["compaction_keep_recent_tokens"] == "compactionKeepRecentTokens"
    assert len(set(CAMEL_NAMES.values())) == len(FIELDS)


def test_every_setting_is_in_the_json_schema_with_its_default_and_a_description() -> None:
    schema = json.loads(json.dumps(json_schema()))
    assert list(schema) == [f"agentLs.{camel}" for camel in CAMEL_NAMES.values()]
    for name, camel in CAMEL_NAMES.items():
        entry = schema[f"agentLs.{camel}"]
        assert entry["default"] == FIELDS[name].default
        assert entry["markdownDescription"]


def test_fault_52_a_repository_cannot_set_what_loosens_or_redirects_the_agent() -> None:
    schema = json_schema()
    guarded = {"model", "compactionModel", "permissionMode", "shellTimeoutSeconds"}
    assert {name.removeprefix("agentLs.") for name, entry in schema.items() if entry["scope"] == "machine"} == guarded


@given(st.sampled_from(sorted(FIELDS)), st.one_of(st.integers(), st.floats(), st.booleans(), st.text(), st.none()))
def test_whatever_the_value_it_is_taken_or_refused_by_name(name: str, value: object) -> None:
    try:
        settings = Settings(**{name: value})  # type: ignore[arg-type]
    except SettingsInvalid as refusal:
        named = refusal.name
    else:
        named = name
        assert getattr(settings, name) == value
    assert named in (name, "microcompaction_reserve_fraction")


def test_the_table_in_the_docs_is_the_schema_s() -> None:
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text("utf-8")
    assert markdown_table() in page


def test_the_vs_code_extension_contributes_exactly_these_settings() -> None:
    package = json.loads((Path(__file__).parents[2] / "editors" / "vscode" / "package.json").read_text("utf-8"))
    contributed = {
        name: {key: value for key, value in schema.items() if key != "order"}
        for section in package["contributes"]["configuration"]
        for name, schema in section["properties"].items()
    }
    own = {"agentLs.serverPath"}  # of the extension itself
    assert {name: schema for name, schema in contributed.items() if name not in own} == json_schema()


def test_settings_do_not_import_pydantic_ai() -> None:
    check = "import sys, agent_ls.settings; sys.exit('pydantic_ai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
