"""Where a path the model names really leads, and what that means for permission (DESIGN §6)."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import platformdirs
from attrs import frozen

_SECRET_NAMES: Final = (
    ".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", "_netrc", ".pgpass", ".pypirc", ".npmrc",
    ".git-credentials", ".htpasswd", "credentials", "credentials.json", "secrets.*", ".vault-token",
)  # fmt: skip
_NOT_SECRET_NAMES: Final = (".env.example", ".env.sample", ".env.template", ".env.dist", "*.pub")
_SECRET_DIRECTORIES: Final = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", "gcloud"})

PROTECTED_NAMES: Final = (".git", ".agent_ls")
"""Never written by a tool in any mode: git's hooks and configuration run code, `.agent_ls` is the agent's own."""

_EXECUTED_NAMES: Final = (
    ".vscode", ".idea", ".devcontainer", ".husky", ".github", ".envrc", ".exrc", ".nvimrc", ".nvim.lua", ".gitmodules",
)  # fmt: skip
"""What an editor or another program runs by itself: writing these asks, also where edits are accepted."""

_SYSTEM_DIRECTORIES: Final = (Path("/proc"), Path("/sys"), Path("/dev"))
"""No files of anybody's: `/proc/<pid>/environ` of this server holds the provider keys."""

SEARCH_EXCLUSIONS: Final = (*_SECRET_NAMES, *sorted(_SECRET_DIRECTORIES))
"""Names a search leaves out, since its results come without a question."""


@frozen
class Place:
    """A resolved path. `path` is absolute with all symlinks followed; nothing need be there."""

    path: Path
    inside: bool
    secret: bool
    protected: bool
    executed: bool
    system: bool


@frozen
class Places:
    """Judges paths against one workspace. `root` is resolved."""

    root: Path
    never_written: tuple[Path, ...]

    @classmethod
    def of_workspace(cls, workspace: Path) -> Places:
        """The places of a workspace; agent_ls's own directories of the user are never written."""
        own = (
            platformdirs.user_config_path("agent-ls", appauthor=False),
            platformdirs.user_data_path("agent-ls", appauthor=False),
        )
        return cls(root=_resolved(workspace), never_written=tuple(_resolved(path) for path in own))

    def locate(self, spelling: str) -> Place:
        """Where `spelling` leads: relative to the workspace, `~/` in front is the user's home directory.

        Raises ValueError for what cannot be a path (a NUL byte), OSError for a loop of symlinks.
        """
        if "\0" in spelling:
            raise ValueError("a path cannot contain a NUL byte")
        # Told from the spelling: to Path.expanduser `./~` is the home directory too.
        at_home = spelling == "~" or spelling.startswith("~/")
        written = Path(os.path.normpath(self.root / (Path(spelling).expanduser() if at_home else spelling)))
        real = _resolved(written)
        both = (written, real)
        inside = real.is_relative_to(self.root)
        below = [path.relative_to(self.root) if path.is_relative_to(self.root) else path for path in both]
        return Place(
            path=real,
            inside=inside,
            secret=any(is_secret(path) for path in below),
            protected=any(_has_part(path, PROTECTED_NAMES) for path in below)
            or any(real.is_relative_to(directory) for directory in self.never_written),
            executed=any(_has_part(path, _EXECUTED_NAMES) for path in below),
            system=any(real.is_relative_to(directory) for directory in _SYSTEM_DIRECTORIES),
        )

    def spell(self, path: Path) -> str:
        """`path` as the model should spell it, relative where it is inside; `locate` finds the same again."""
        if not path.is_relative_to(self.root):
            return str(path)
        relative = str(path.relative_to(self.root))
        return f"./{relative}" if relative.startswith("~") else relative


def is_secret(path: Path) -> bool:
    """Whether a path looks like one that holds keys or passwords, by its names alone, in any case of letters."""
    name = path.name.casefold()
    if any(fnmatch.fnmatchcase(name, pattern) for pattern in _NOT_SECRET_NAMES):
        return False
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in _SECRET_NAMES) or any(
        part.casefold() in _SECRET_DIRECTORIES for part in path.parts
    )


def _has_part(path: Path, names: Iterable[str]) -> bool:
    return not {part.casefold() for part in path.parts}.isdisjoint(names)


def _resolved(path: Path) -> Path:
    # Not Path.resolve: that raises RuntimeError for a loop of symlinks (Python 3.11 and 3.12).
    return Path(os.path.realpath(path))
