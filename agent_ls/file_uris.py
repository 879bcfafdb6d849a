"""Paths that clients name: by URI, or as they are."""

from __future__ import annotations

from pathlib import Path

from pygls.uris import to_fs_path


def path_of(uri: str) -> Path | None:
    """The resolved path of a `file:` URI, None for any other and for what is no URI."""
    try:
        name = to_fs_path(uri)
    except ValueError:
        return None
    return resolved(name) if name is not None else None


def resolved(name: str) -> Path | None:
    """The resolved path of that name, None where no file can have it."""
    try:
        return Path(name).resolve()
    except (OSError, ValueError, RuntimeError):  # a NUL, a lone surrogate, symlinks in a circle
        return None
