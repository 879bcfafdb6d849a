"""`Settings`: every value a person can set, with its default, its rule and what it means (DESIGN §8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

import attrs
from attrs import Attribute, frozen

from agent_ls.errors import SettingsInvalid
from agent_ls.settings.rules import BreaksRule, Flag, ModelName, OneOf, Rule, Share, Whole

PermissionMode = Literal["ask", "acceptEdits", "readOnly", "bypass"]
LogLevel = Literal["debug", "info", "warning", "error"]

_PERMISSION_MODES: Final = OneOf(get_args(PermissionMode))
_LOG_LEVELS: Final = OneOf(get_args(LogLevel))

DEFAULT_CONTEXT_WINDOW_TOKENS: Final = 1_048_576
"""The window where `compaction_context_window_tokens` is unset and the model declares no smaller one (CASCADE §2)."""


def _check(settings: Settings, attribute: Attribute[Any], value: object) -> None:
    optional = attribute.default is None
    if optional and value is None:
        return
    try:
        attribute.metadata["rule"].check(value)
    except BreaksRule as broken:
        raise SettingsInvalid(name=attribute.name, value=value, rule=str(broken), source="code") from None


def _setting(default: Any, rule: Rule, doc: str, *, user_only: bool = False) -> Any:
    """A field of Settings. `user_only`: a repository's editor files must not set it (FAULTS 52)."""
    return attrs.field(default=default, validator=_check, metadata={"rule": rule, "doc": doc, "user_only": user_only})


@frozen(kw_only=True)
class Settings:
    """Every setting, valid by construction: raises SettingsInvalid otherwise. Tokens are the provider's."""

    model: str | None = _setting(
        None,
        ModelName(),
        "The model that answers, by its pydantic-ai name (`anthropic:claude-sonnet-5-5`); `local` is the bundled one. "
        "Unset: the first provider with a key in the environment, else `local`.",
        user_only=True,
    )
    compaction_model: str | None = _setting(
        None, ModelName(), "The model that writes summaries. Unset: the session's own.", user_only=True
    )
    compaction_enabled: bool = _setting(
        True, Flag(), "Whether room is made automatically. `/compact` works either way."
    )
    compaction_context_window_tokens: int | None = _setting(
        None,
        Whole(1, "tokens"),
        "The model's input window. Set: used as it is. "
        f"Unset: {DEFAULT_CONTEXT_WINDOW_TOKENS:_}, or the model's own window where that is known to be smaller.",
    )
    compaction_reserve_fraction: float = _setting(
        0.20, Share(), "The share of the window kept free: full compaction fires when less is left."
    )
    microcompaction_reserve_fraction: float = _setting(
        0.40,
        Share(),
        "Microcompaction fires when less than this share of the window is left. "
        "Must be greater than `compaction_reserve_fraction`.",
    )
    microcompaction_min_reclaim_fraction: float = _setting(
        0.02,
        Share(zero_allowed=True),
        "An automatic microcompaction that would free less than this share of the window is skipped.",
    )
    compaction_keep_recent_tokens: int = _setting(
        20_000,
        Whole(0, "tokens"),
        "How much recent conversation a compaction keeps verbatim; never more than 30 % of the usable window.",
    )
    compaction_keep_user_tokens: int = _setting(
        8_000,
        Whole(0, "tokens"),
        "How much of the user's own words a compaction keeps verbatim; never more than 15 % of the usable window.",
    )
    compaction_mid_turn: bool = _setting(
        True, Flag(), "Whether room is also made inside a turn, before a request that would not fit."
    )
    max_requests_per_turn: int = _setting(
        100, Whole(1, "requests"), "How many requests one turn may send to the model."
    )
    permission_mode: PermissionMode = _setting(  # noqa: RUF009  # an attrs field, made by a function of ours
        "ask",
        _PERMISSION_MODES,
        "What happens before the agent changes something: `ask` asks, `acceptEdits` asks for commands only, "
        "`readOnly` refuses, `bypass` allows everything.",
        user_only=True,
    )
    shell_timeout_seconds: int = _setting(
        120, Whole(1, "seconds"), "How long one shell command may run.", user_only=True
    )
    memory_compression_enabled: bool = _setting(
        True, Flag(), "Whether a session leaves a sentence in MEMORY.md, and a full file is compressed by the model."
    )
    memory_max_lines: int = _setting(
        200, Whole(1, "lines"), "How many lines MEMORY.md may have, and how many of an instruction file are sent."
    )
    memory_max_bytes: int = _setting(
        25_000, Whole(1, "bytes"), "How many bytes MEMORY.md may have, and how many of an instruction file are sent."
    )
    log_level: LogLevel = _setting(  # noqa: RUF009  # see permission_mode
        "info", _LOG_LEVELS, "What the server's own log tells."
    )

    def __attrs_post_init__(self) -> None:
        if not self.microcompaction_reserve_fraction > self.compaction_reserve_fraction:
            raise SettingsInvalid(
                name="microcompaction_reserve_fraction",
                value=self.microcompaction_reserve_fraction,
                rule=f"must be greater than compaction_reserve_fraction ({self.compaction_reserve_fraction})",
                source="code",
            )


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


FIELDS: Final[Mapping[str, Attribute[Any]]] = {attribute.name: attribute for attribute in attrs.fields(Settings)}
"""Each setting's attrs field by its Python name; `metadata` holds its `rule`, `doc` and `user_only`."""

CAMEL_NAMES: Final[Mapping[str, str]] = {name: _camel(name) for name in FIELDS}
"""Python name -> the name on the wire and in editors."""


def rule_of(name: str) -> Rule:
    """The rule of one setting, by its Python name."""
    rule: Rule = FIELDS[name].metadata["rule"]
    return rule
