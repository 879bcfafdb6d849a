"""One source of settings read into a `Layer`: what it sets, what of it is refused, what a person should hear.

A layer never fails as a whole: one bad value is refused by name and the others count.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from agent_ls.errors import SettingsInvalid
from agent_ls.settings.rules import BreaksRule
from agent_ls.settings.schema import CAMEL_NAMES, rule_of

ENVIRONMENT_PREFIX: Final = "AGENT_LS_"

_MAX_FILE_BYTES: Final = 1_000_000
_KEY_LIKE_NAME: Final = re.compile(r"(api_?key|secret|token|password)s?$", re.IGNORECASE)


@frozen
class Layer:
    """What one source says. `values` by Python name; `label` names the source of a setting for a person."""

    label: Callable[[str], str]
    spelling: Callable[[str], str]
    values: Mapping[str, Any] = {}
    refused: tuple[SettingsInvalid, ...] = ()
    warnings: tuple[str, ...] = ()

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def refusal(self, name: str, rule: str) -> SettingsInvalid:
        """Why this layer's value of `name` is refused."""
        return SettingsInvalid(name=self.spelling(name), value=self.values[name], rule=rule, source=self.label(name))


def from_user_file(path: Path | None) -> Layer:
    """The user's TOML file, in Python spelling. No file: an empty layer; an unreadable one: refused with why."""
    label = f"{path}"
    if path is None:
        return _layer({}, {}, label=lambda _: label, place=label)
    try:
        content = _read_toml(path)
    except FileNotFoundError:
        return _layer({}, {}, label=lambda _: label, place=label)
    except (OSError, ValueError, RecursionError) as error:
        refused = SettingsInvalid(
            name="the whole file", value=path.name, rule=f"it cannot be read: {error}", source=label
        )
        return Layer(label=lambda _: label, spelling=str, refused=(refused,))
    return _layer(content, {name: name for name in CAMEL_NAMES}, label=lambda _: label, place=label)


def from_environment(environ: Mapping[str, str]) -> Layer:
    """`AGENT_LS_*` of the process. An empty variable counts as not set."""
    names = {ENVIRONMENT_PREFIX + name.upper(): name for name in CAMEL_NAMES}
    given = {name: text for name, text in environ.items() if name.startswith(ENVIRONMENT_PREFIX) and text.strip()}
    return _layer(
        given,
        names,
        label=lambda name: f"the environment ({ENVIRONMENT_PREFIX}{name.upper()})",
        place="the environment",
        from_text=True,
    )


def from_editor(content: object, label: str) -> Layer:
    """What the editor sent, in camelCase; a null counts as not set. Anything but an object is refused."""
    if content is None:
        content = {}
    if not isinstance(content, Mapping):
        refused = SettingsInvalid(name="settings", value=content, rule="must be an object", source=label)
        return Layer(label=lambda _: label, spelling=str, refused=(refused,))
    given = {str(name): value for name, value in content.items() if value is not None}
    return _layer(given, {camel: name for name, camel in CAMEL_NAMES.items()}, label=lambda _: label, place=label)


def _layer(
    given: Mapping[str, Any],
    names: Mapping[str, str],
    *,
    label: Callable[[str], str],
    place: str,
    from_text: bool = False,
) -> Layer:
    """Check each value. `names`: the source's spelling of a setting -> its Python name; `place`: the source's name."""
    spelled_as = {name: spelled for spelled, name in names.items()}
    values: dict[str, Any] = {}
    refused: list[SettingsInvalid] = []
    warnings: list[str] = []
    for spelled, value in given.items():
        name = names.get(spelled)
        if name is None:
            warnings.append(_unknown(spelled, names, place))
            continue
        rule = rule_of(name)
        try:
            values[name] = rule.parse(value) if from_text else rule.check(value)
        except BreaksRule as broken:
            refused.append(SettingsInvalid(name=spelled, value=value, rule=str(broken), source=label(name)))
    return Layer(
        label=label,
        spelling=lambda name: spelled_as[name],
        values=values,
        refused=tuple(refused),
        warnings=tuple(warnings),
    )


def _unknown(spelled: str, known: Iterable[str], place: str) -> str:
    """A warning about an unknown key. Never shows its value: it may be a key put in the wrong place."""
    text = f"Unknown setting {spelled!r} in {place}"
    if _KEY_LIKE_NAME.search(spelled):
        return f"{text}: keys are no settings, they come from the provider's environment variable."
    # Compared without case and underscores, so that the other spelling of a real setting is recognised.
    plain = {name.replace("_", "").lower(): name for name in known}
    close = difflib.get_close_matches(spelled.replace("_", "").lower(), plain, n=1, cutoff=0.75)
    return f"{text}; did you mean {plain[close[0]]!r}?" if close else f"{text}; it is ignored."


def _read_toml(path: Path) -> Mapping[str, Any]:
    """Raises OSError or ValueError, with the line of a syntax error."""
    if not path.exists():
        raise FileNotFoundError(path)
    if not path.is_file():
        raise ValueError("it is not a regular file")
    with path.open("rb") as file:
        content = file.read(_MAX_FILE_BYTES + 1)
    if len(content) > _MAX_FILE_BYTES:
        raise ValueError(f"it is larger than {_MAX_FILE_BYTES} bytes")
    return tomllib.loads(content.decode("utf-8-sig"))
