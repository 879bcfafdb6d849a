"""What a call of `write_file` or `edit_file` would do to the file, worked out before anybody is asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from attrs import frozen

from agent_ls.tools.documents import Documents
from agent_ls.tools.readings import Readings, content_hash

_NO_FILE: Final = "<absent>"


@frozen
class Proposal:
    """A change that can be made: from `old` (None: there is no file) to `new`, both as the model sees text."""

    old: str | None
    new: str

    @property
    def expected_hash(self) -> str:
        """The harness's `expected_hash` that pins the change to `old`: it refuses if anything else is there by then."""
        return _NO_FILE if self.old is None else content_hash(self.old)


@frozen
class Impossible:
    """A change that cannot be made, with a sentence for the model."""

    reason: str


Outcome: TypeAlias = Proposal | Impossible


def propose(
    tool_name: str, arguments: Mapping[str, Any], path: Path, documents: Documents, readings: Readings
) -> Outcome:
    """The change a call (with validated arguments) would make to the file at `path` (resolved).

    Reasons name no path: the caller knows how the model spelled it.
    """
    try:
        form = documents.text_form(path)
    except FileNotFoundError:
        if tool_name == "edit_file":
            return Impossible("there is no such file: use write_file to make it")
        return Proposal(None, arguments["content"])
    except OSError as error:
        return Impossible(str(error.strerror or error))
    if form is None:
        return Impossible("it is not UTF-8 text, and the file tools change only text")
    whole = tool_name == "write_file"
    objection = readings.objection(path, content_hash(form.text), whole=whole)
    if objection is not None:
        return Impossible(objection)
    if whole:
        return Proposal(form.text, arguments["content"])
    return _edited(form.text, _replacements(arguments))


def _replacements(arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    several = arguments.get("replacements")
    if several:
        return [(each.old_text, each.new_text) for each in several]
    return [(arguments.get("old_text") or "", arguments.get("new_text") or "")]


def _edited(text: str, replacements: list[tuple[str, str]]) -> Outcome:
    new = text
    for old_part, new_part in replacements:
        if not old_part:
            return Impossible("old_text is empty: give the exact text to replace")
        count = new.count(old_part)
        if count == 0:
            return Impossible("old_text was not found: read the file and copy the text exactly")
        if count > 1:
            return Impossible(f"old_text is there {count} times: add lines around it until it is unique")
        new = new.replace(old_part, new_part, 1)
    return Proposal(text, new)
