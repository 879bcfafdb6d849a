"""Whether everything in a CycloneDX bill of materials has a licence of `requirements/licences.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from license_expression import ExpressionError, LicenseExpression, get_spdx_licensing

from release_steps.source import Refusal

Json = Mapping[str, Any]
SPDX = get_spdx_licensing()


@dataclass(frozen=True)
class Policy:
    """`allowed`: SPDX identifiers. `names`: other spellings of them. `read`: by package, what a person read in it."""

    allowed: frozenset[str]
    names: Mapping[str, str]
    read: Mapping[str, str]

    @classmethod
    def load(cls, path: Path) -> Policy:
        """The policy in a TOML file."""
        table = tomllib.loads(path.read_text("utf-8"))
        return cls(frozenset(table["allowed"]), table["names"], table["read"])

    def permits(self, expression: str) -> bool:
        """Whether an SPDX expression can be fulfilled with allowed licences alone. What SPDX does not know cannot."""
        try:
            parsed = SPDX.parse(expression, validate=True)
        except ExpressionError:
            return False
        return parsed is not None and self._fulfilled(parsed)

    def _fulfilled(self, parsed: LicenseExpression) -> bool:
        if isinstance(parsed, SPDX.AND):
            return all(self._fulfilled(part) for part in parsed.args)
        if isinstance(parsed, SPDX.OR):
            return any(self._fulfilled(part) for part in parsed.args)
        return parsed.render() in self.allowed


def refuse_unknown_licences(bill: Json, policy: Policy) -> None:
    """Raises Refusal with every component whose licence is not known or not allowed."""
    refused = [
        f"  {component['name']} {component.get('version', '')}: {' and '.join(stated) or 'no licence stated'}"
        for component in bill["components"]
        for stated in [stated_licences(component, policy)]
        if not stated or not all(policy.permits(expression) for expression in stated)
    ]
    if refused:
        raise Refusal(
            "These licences are not in requirements/licences.toml; read them before you add them:\n"
            + "\n".join(refused)
        )


def stated_licences(component: Json, policy: Policy) -> list[str]:
    """The licences a component states, as SPDX expressions where that is known; all of them bind."""
    if component["name"] in policy.read:
        return [policy.read[component["name"]]]
    identified = [*_identified(component)]
    named = [
        choice["license"]["name"] for choice in component.get("licenses", ()) if "name" in choice.get("license", {})
    ]
    known = [policy.names.get(name, name) for name in named]
    # A classifier is coarser than the identifier beside it.
    return list(dict.fromkeys(identified or known))


def _identified(component: Json) -> Iterator[str]:
    for choice in component.get("licenses", ()):
        if "expression" in choice:
            yield choice["expression"]
        elif "id" in choice["license"]:
            yield choice["license"]["id"]
