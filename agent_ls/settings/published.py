"""The settings as others read them: JSON Schema for editors, a table for people. Both come from the one schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent_ls.protocol import CONFIGURATION_SECTION, EffectiveSetting
from agent_ls.settings.schema import CAMEL_NAMES, DEFAULT_CONTEXT_WINDOW_TOKENS, FIELDS, rule_of
from agent_ls.settings.sources import Effective


def json_schema() -> Mapping[str, Any]:
    """`contributes.configuration.properties` of VS Code's package.json.

    What a repository must not set has the scope `machine`: VS Code then ignores it in `.vscode/settings.json`, which
    is a file of the repository (FAULTS 52). An optional setting may be null, which counts as not set.
    """
    properties: dict[str, Any] = {}
    for name, attribute in FIELDS.items():
        schema = dict(rule_of(name).json_schema())
        if attribute.default is None:
            schema["type"] = [schema["type"], "null"]
        schema["default"] = attribute.default
        schema["markdownDescription"] = _with_camel_names(attribute.metadata["doc"])
        schema["scope"] = "machine" if attribute.metadata["user_only"] else "window"
        properties[f"{CONFIGURATION_SECTION}.{CAMEL_NAMES[name]}"] = schema
    return properties


def effective_settings(effective: Effective) -> Sequence[EffectiveSetting]:
    """Every setting in force with its source, as `agent/status` and `agent-ls doctor` show them."""
    return [
        EffectiveSetting(name=name, value=getattr(effective.settings, name), source=effective.origins[name])
        for name in FIELDS
    ]


def markdown_table() -> str:
    """The table of docs/settings.md, one setting a row."""
    rows = ["| Setting | In editors | Default | Rule | Meaning |", "|---|---|---|---|---|"]
    for name, attribute in FIELDS.items():
        cells = (
            f"`{name}`",
            f"`{CAMEL_NAMES[name]}`",
            _default_text(name, attribute.default),
            rule_of(name).text.removeprefix("must be "),
            attribute.metadata["doc"],
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _default_text(name: str, default: object) -> str:
    if name == "compaction_context_window_tokens":
        return f"unset ({DEFAULT_CONTEXT_WINDOW_TOKENS:_})"
    if default is None:
        return "unset"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default:_}`" if isinstance(default, int) else f"`{default}`"


def _with_camel_names(doc: str) -> str:
    for name, camel in CAMEL_NAMES.items():
        doc = doc.replace(f"`{name}`", f"`#{CONFIGURATION_SECTION}.{camel}#`")
    return doc
