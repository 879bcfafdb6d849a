"""Where settings come from and which source wins (DESIGN §8): defaults, the user's file, the environment, the editor.

The user's file is the person's own (`platformdirs`), the environment that of the process. The workspace is no source.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import platformdirs
from attrs import define, evolve, field, frozen

from agent_ls.errors import SettingsInvalid
from agent_ls.protocol import CONFIGURATION_SECTION
from agent_ls.settings.layers import Layer, from_editor, from_environment, from_user_file
from agent_ls.settings.schema import FIELDS, Settings

DEFAULT: Final = "default"
INITIALIZATION: Final = "initializationOptions.settings"
CONFIGURATION: Final = "the editor's configuration"

_DEFAULTS: Final = Settings()
_RESERVES: Final = ("microcompaction_reserve_fraction", "compaction_reserve_fraction")


@frozen
class Effective:
    """The settings in force. `origins` tells each one's source, `refused` what did not get in, `warnings` the rest."""

    settings: Settings
    origins: Mapping[str, str]
    warnings: Sequence[str] = ()
    refused: Sequence[SettingsInvalid] = ()

    def is_set(self, name: str) -> bool:
        """Whether any source set this one, even to its default."""
        return self.origins[name] != DEFAULT

    @property
    def messages(self) -> Sequence[str]:
        """Everything a person should hear about, refusals first."""
        return (*(refusal.message for refusal in self.refused), *self.warnings)


def user_config_file() -> Path:
    """Where the user's settings are: `~/.config/agent-ls/config.toml` on Linux. It need not exist."""
    return platformdirs.user_config_path("agent-ls", appauthor=False) / "config.toml"


def configuration_section(payload: object) -> object:
    """Our section of a `workspace/didChangeConfiguration` payload: some editors nest it, some send it bare."""
    if isinstance(payload, Mapping) and CONFIGURATION_SECTION in payload:
        return payload[CONFIGURATION_SECTION]
    return payload


def resolve(
    *,
    user_file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    initialization: object = None,
    configuration: object = None,
) -> Effective:
    """Merge the sources, later wins; never raises.

    A bad value is refused (`Effective.refused`) and the source before it counts. `initialization` and `configuration`
    are what the editor sent, in camelCase, or None.
    """
    return _merge(
        (
            from_user_file(user_file),
            from_environment(environ or {}),
            from_editor(initialization, INITIALIZATION),
            from_editor(configuration, CONFIGURATION),
        )
    )


def _merge(layers: Sequence[Layer]) -> Effective:
    source = {name: layer for layer in layers for name in layer.values}
    broken: list[SettingsInvalid] = []
    while (refusal := _conflict(layers, source)) is not None:
        layer, name, invalid = refusal
        broken.append(invalid)
        del source[name]
        for earlier in layers[: layers.index(layer)]:
            if name in earlier:
                source[name] = earlier
    return Effective(
        settings=Settings(**{name: layer.values[name] for name, layer in source.items()}),
        origins={name: source[name].label(name) if name in source else DEFAULT for name in FIELDS},
        warnings=tuple(warning for layer in layers for warning in layer.warnings),
        refused=(*(refused for layer in layers for refused in layer.refused), *broken),
    )


def _conflict(layers: Sequence[Layer], source: Mapping[str, Layer]) -> tuple[Layer, str, SettingsInvalid] | None:
    """The latest-set reserve fraction, if the two contradict each other, and why it is refused."""
    micro, full = (source[name].values[name] if name in source else getattr(_DEFAULTS, name) for name in _RESERVES)
    if micro > full:
        return None
    name = max((name for name in _RESERVES if name in source), key=lambda name: layers.index(source[name]))
    other = _RESERVES[1 - _RESERVES.index(name)]
    word = "greater" if name == _RESERVES[0] else "smaller"
    layer = source[name]
    rule = f"must be {word} than {layer.spelling(other)}, which is {full if name == _RESERVES[0] else micro}"
    return layer, name, layer.refusal(name, rule)


@define
class LiveSettings:
    """The settings of a running server: they change, and a refused change leaves the last good ones in force."""

    _user_file: Path | None
    _environ: Mapping[str, str]
    _initialization: object = None
    _configuration: object = None
    _effective: Effective = field(init=False)
    _user_file_stamp: tuple[int, int] | None = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._user_file_stamp = _stamp(self._user_file)
        self._effective = self._resolve(self._configuration)

    @classmethod
    def of_this_process(cls, *, initialization: object = None) -> LiveSettings:
        """With the user's file and this process's environment; `initialization` is `initializationOptions.settings`."""
        return cls(user_config_file(), dict(os.environ), initialization)

    @classmethod
    def fixed(cls, **values: Any) -> LiveSettings:
        """With nothing but these values, in Python spelling. Raises SettingsInvalid."""
        live = cls(None, {})
        live._effective = Effective(
            Settings(**values), {name: "code" if name in values else DEFAULT for name in FIELDS}
        )
        return live

    @property
    def current(self) -> Settings:
        """The settings in force now. Ask again for every decision (DESIGN §8: no restart)."""
        return self._effective.settings

    @property
    def effective(self) -> Effective:
        """The settings in force with their origins, warnings and refusals."""
        return self._effective

    def update_configuration(self, configuration: object) -> Effective:
        """Take what `workspace/didChangeConfiguration` says (whole payload or bare section).

        Raises SettingsInvalid for its first bad value; then nothing changes.
        """
        section = configuration_section(configuration)
        effective = self._resolve(section)
        before = {refusal.message for refusal in self._effective.refused}
        for refusal in effective.refused:
            if refusal.source == CONFIGURATION or refusal.message not in before:
                raise refusal
        self._configuration = section
        self._effective = effective
        return effective

    def reread_user_file(self) -> Effective:
        """What is in force, after reading the user's file again if it changed. A file with a bad value changes nothing
        but `refused`, which says why."""
        stamp = _stamp(self._user_file)
        if stamp != self._user_file_stamp:
            self._user_file_stamp = stamp
            effective = self._resolve(self._configuration)
            self._effective = evolve(self._effective, refused=effective.refused) if effective.refused else effective
        return self._effective

    def _resolve(self, configuration: object) -> Effective:
        return resolve(
            user_file=self._user_file,
            environ=self._environ,
            initialization=self._initialization,
            configuration=configuration,
        )


def _stamp(path: Path | None) -> tuple[int, int] | None:
    """What tells a changed file: None for no file."""
    try:
        status = path.stat() if path is not None else None
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size) if status is not None else None
