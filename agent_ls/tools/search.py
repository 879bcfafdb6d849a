"""`search_files` and `find_files`: ripgrep over the disk, and over what the editor has not saved (FAULTS 51).

Unsaved documents are laid out in a private temporary directory, under the same relative names, and searched by the
same program with the same arguments; what the disk says about their paths is dropped.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from attrs import frozen
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.toolsets import FunctionToolset

from agent_ls.tools.environment import ToolEnvironment
from agent_ls.tools.places import PROTECTED_NAMES, SEARCH_EXCLUSIONS
from agent_ls.tools.presentation import visible
from agent_ls.tools.ripgrep import RipgrepMissing, RipgrepResult, run_ripgrep

_MOST_MATCHES: Final = 200
_MOST_FILES: Final = 500
_FILES: Final = ("--files", "--null", "--sort", "path")
_LINES: Final = (
    *("--sort", "path", "--no-heading", "--with-filename", "--null", "--line-number", "--color", "never"),
    *("--max-filesize", "20M", "--max-columns", "300", "--max-columns-preview"),
)
_RECORD: Final = re.compile(rb"([^\0]*)\0(\d+):([^\n]*)\n")
_BINARY_NOTE: Final = re.compile(
    rb"(?:[^\0\n]*: (?:WARNING: stopped searching binary file|binary file matches)[^\0\n]*\n)+"
)
"""What ripgrep writes after the matches of a file in which it then met a NUL byte."""
_EXCLUDED: Final = tuple(
    argument for name in (*SEARCH_EXCLUSIONS, *PROTECTED_NAMES) for argument in ("--iglob", f"!{name}")
)


_Line: TypeAlias = tuple[bytes, int, bytes]
"""A matching line: the file's path as ripgrep writes it, the line's number, its text."""


def search_toolset(environment: ToolEnvironment) -> FunctionToolset[Any]:
    """The toolset with `search_files` and `find_files`."""

    async def search_files(
        pattern: str, path: str = ".", include_glob: str | None = None, ignore_case: bool = False
    ) -> str:
        """Search the text of files with a regular expression. Sees the editor's unsaved text; obeys .gitignore.

        Args:
            pattern: The regular expression, in ripgrep's syntax.
            path: The directory or file to search.
            include_glob: Only files that match this glob, such as '*.py' or 'src/**/*.ts'.
            ignore_case: Whether upper and lower case are the same.

        Returns:
            Lines as path:line:text.
        """
        case = ["--ignore-case"] if ignore_case else []
        found = await _Search(environment, path, include_glob).run([*_LINES, *case, "--regexp", pattern])
        matches = sorted((line for each in found for line in _lines(each)), key=lambda line: line[0].split(b"/"))
        shown = [
            f"{_spelled(name)}:{number}:{text.decode('utf-8', 'replace')}"
            for name, number, text in matches[:_MOST_MATCHES]
        ]
        return _listed(shown, len(matches) - len(shown), found)

    async def find_files(pattern: str, path: str = ".") -> str:
        """Find files by name. Knows the editor's unsaved files; obeys .gitignore.

        Args:
            pattern: A glob such as '*.py' (in any directory) or 'src/**/test_*'.
            path: The directory to search.

        Returns:
            One path per line.
        """
        found = await _Search(environment, path, pattern).run(_FILES)
        names = sorted((name for each in found for name in _names(each)), key=lambda name: name.split(b"/"))
        shown = [_spelled(name) for name in names[:_MOST_FILES]]
        return _listed(shown, len(names) - len(shown), found)

    return FunctionToolset([search_files, find_files], id="agent_ls_search")


@frozen
class _Found:
    """What one run of ripgrep said, without the paths that the editor knows better. Paths begin at `base`."""

    base: bytes
    result: RipgrepResult
    not_these: frozenset[bytes]


@frozen
class _Search:
    """One search below `path` (permitted by the gate) in the files that `glob` names, all if None."""

    environment: ToolEnvironment
    path: str
    glob: str | None

    async def run(self, arguments: Sequence[str]) -> list[_Found]:
        """The results from the disk and from the unsaved documents. Raises ModelRetry for a bad pattern or path."""
        place = self.environment.places.locate(self.path)
        root, base = self.environment.places.root, b""
        if not place.inside:
            root = place.path if place.path.is_dir() else place.path.parent
            base = os.fsencode(root) + b"/"
            # Below `/` there is more than files: `/proc` holds the environment of this server.
            arguments = ["--one-file-system", *arguments]
        unsaved = {
            document.path.relative_to(root): document.text
            for document in self.environment.documents.unsaved()
            if document.path.is_relative_to(place.path) and document.path.is_relative_to(root)
        }
        if not place.path.exists() and not unsaved:
            raise ModelRetry(f"There is nothing at {self.path!r}.")
        target = str(place.path.relative_to(root))
        known = frozenset(os.fsencode(path) for path in unsaved)
        found = []
        with tempfile.TemporaryDirectory(prefix="agent-ls-") as temporary:
            chosen = [*_EXCLUDED, *_choosing(self.glob, Path(temporary, "ignore"))]
            if place.path.exists():
                found.append(_Found(base, await self._ripgrep([*chosen, *arguments], target, root), known))
            if unsaved:
                laid_out = Path(temporary, "unsaved")
                await asyncio.to_thread(_lay_out, laid_out, unsaved)
                found.append(_Found(base, await self._ripgrep([*chosen, *arguments], target, laid_out), frozenset()))
        return found

    async def _ripgrep(self, arguments: Sequence[str], target: str, cwd: Path) -> RipgrepResult:
        try:
            result = await run_ripgrep([*arguments, "--", target], cwd, self.environment.children.new_mark())
        except RipgrepMissing as missing:
            raise ModelRetry(str(missing)) from missing
        if result.exit_code == 2 and not result.output:  # ripgrep's exit code for an error
            raise ModelRetry(f"The search failed: {result.errors[:1_000]}")
        return result


def _lay_out(directory: Path, texts: Mapping[Path, str]) -> None:
    for path, text in texts.items():
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode("utf-8", "replace"))


def _choosing(glob: str | None, ignore_file: Path) -> list[str]:
    """Arguments that choose files by `glob`, by way of `ignore_file`.

    ripgrep's own `--glob` would bring back what `.gitignore` leaves out; an ignore file of the lowest rank does not.
    Hidden files take part only if the glob names one.
    """
    if glob is None:
        return []
    if not glob or glob.startswith("!") or "\n" in glob:
        raise ModelRetry("A glob says what to include, as in '*.py' or 'src/**/*.ts'.")
    names_hidden = any(part.startswith(".") for part in glob.split("/"))
    wanted = f"/{glob.lstrip('/')}" if "/" in glob else glob
    rules = ["*", "!*/", f"!{wanted}", *([] if names_hidden else [".*"])]
    ignore_file.write_text("\n".join(rules), encoding="utf-8", errors="replace")
    return ["--hidden", "--ignore-file", str(ignore_file)] if names_hidden else ["--ignore-file", str(ignore_file)]


def _lines(found: _Found) -> Iterator[_Line]:
    for written, number, text in _RECORD.findall(found.result.output):
        path = (_BINARY_NOTE.sub(b"", written, count=1) if b"\n" in written else written).removeprefix(b"./")
        if path not in found.not_these:
            yield found.base + path, int(number), text.rstrip(b"\r")


def _names(found: _Found) -> Iterator[bytes]:
    # What stands after the last NUL is nothing, or a name that was cut.
    for written in found.result.output.split(b"\0")[:-1]:
        path = written.removeprefix(b"./")
        if path not in found.not_these:
            yield found.base + path


def _spelled(path: bytes) -> str:
    """A name on one line: it must not forge a result."""
    return visible(os.fsdecode(path))


def _listed(lines: list[str], left: int, found: Sequence[_Found]) -> str:
    notes = [f"[{left} more not shown; narrow the pattern, the glob or the path]"] if left else []
    notes += [f"[the search was cut short: {each.result.cut}]" for each in found if each.result.cut]
    return "\n".join([*(lines or ["Nothing was found."]), *notes])
