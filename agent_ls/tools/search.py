"""`search_files` and `find_files`: ripgrep over the disk, and over what the editor has not saved (FAULTS 51).

Unsaved documents are laid out in a private temporary directory, under the same relative names, and searched by the
same program with the same arguments; what the disk says about their paths is dropped.
"""

from __future__ import annotations

import asyncio
import base64
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import frozen
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.toolsets import FunctionToolset

from agent_ls.tools.environment import ToolEnvironment
from agent_ls.tools.places import PROTECTED_NAMES, SEARCH_EXCLUSIONS
from agent_ls.tools.presentation import visible
from agent_ls.tools.ripgrep import RipgrepMissing, RipgrepResult, run_ripgrep

_MOST_MATCHES: Final = 200
_MOST_FILES: Final = 500
_LINE_CHARACTERS: Final = 300
_BEFORE_MATCH: Final = 100
_EXCLUDED: Final = tuple(
    argument for name in (*SEARCH_EXCLUSIONS, *PROTECTED_NAMES) for argument in ("--iglob", f"!{name}")
)


@frozen(order=True)
class _Match:
    """One matching line. Ordered by path component, then line."""

    path: tuple[str, ...]
    line: int
    text: str


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
        arguments = ["--json", "--sort", "path", "--max-filesize", "20M", "--regexp", pattern]
        if ignore_case:
            arguments.append("--ignore-case")
        found = await _Search(environment, path, include_glob).run(arguments)
        matches = sorted(match for result in found for match in _matches(result))
        lines = [f"{'/'.join(match.path)}:{match.line}:{match.text}" for match in matches[:_MOST_MATCHES]]
        return _listed(lines, len(matches) - len(lines), found)

    async def find_files(pattern: str, path: str = ".") -> str:
        """Find files by name. Knows the editor's unsaved files; obeys .gitignore.

        Args:
            pattern: A glob such as '*.py' (in any directory) or 'src/**/test_*'.
            path: The directory to search.

        Returns:
            One path per line.
        """
        found = await _Search(environment, path, pattern).run(["--files", "--null", "--sort", "path"])
        paths = sorted({name for result in found for name in _names(result)})
        lines = ["/".join(name) for name in paths[:_MOST_FILES]]
        return _listed(lines, len(paths) - len(lines), found)

    return FunctionToolset([search_files, find_files], id="agent_ls_search")


@frozen
class _Found:
    """What one run of ripgrep said, without the paths that the editor knows better."""

    result: RipgrepResult
    not_these: frozenset[tuple[str, ...]]


@frozen
class _Search:
    """One search below `path` (permitted by the gate) in the files that `glob` names, all if None."""

    environment: ToolEnvironment
    path: str
    glob: str | None

    async def run(self, arguments: Sequence[str]) -> list[_Found]:
        """The results from the disk and from the unsaved documents. Raises ModelRetry for a bad pattern or path."""
        place = self.environment.places.locate(self.path)
        root = self.environment.places.root
        if not place.inside:
            root = place.path if place.path.is_dir() else place.path.parent
        unsaved = {
            document.path.relative_to(root): document.text
            for document in self.environment.documents.unsaved()
            if document.path.is_relative_to(place.path) and document.path.is_relative_to(root)
        }
        if not place.path.exists() and not unsaved:
            raise ModelRetry(f"There is nothing at {self.path!r}.")
        target = str(place.path.relative_to(root))
        known = frozenset(_spelled(path.parts) for path in unsaved)
        found = []
        with tempfile.TemporaryDirectory(prefix="agent-ls-") as temporary:
            chosen = [*_EXCLUDED, *_choosing(self.glob, Path(temporary, "ignore"))]
            if place.path.exists():
                found.append(_Found(await self._ripgrep([*chosen, *arguments], target, root), known))
            if unsaved:
                laid_out = Path(temporary, "unsaved")
                await asyncio.to_thread(_lay_out, laid_out, unsaved)
                found.append(_Found(await self._ripgrep([*chosen, *arguments], target, laid_out), frozenset()))
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


def _matches(found: _Found) -> Iterator[_Match]:
    for line in found.result.output.split(b"\n"):
        try:
            record = json.loads(line)
        except ValueError:  # the last line of an output that was cut
            continue
        if record["type"] != "match":
            continue
        data = record["data"]
        path = _spelled(_parts(_bytes(data["path"])))
        if path not in found.not_these:
            start = data["submatches"][0]["start"] if data["submatches"] else 0
            yield _Match(path, data["line_number"] or 0, _excerpt(_bytes(data["lines"]), start))


def _names(found: _Found) -> Iterator[tuple[str, ...]]:
    *names, _ = found.result.output.split(b"\0")
    for name in names:
        path = _spelled(_parts(name))
        if path not in found.not_these:
            yield path


def _bytes(value: Mapping[str, str]) -> bytes:
    """ripgrep gives text as text, and as base64 what is not UTF-8."""
    return base64.b64decode(value["bytes"]) if "bytes" in value else value["text"].encode()


def _parts(path: bytes) -> tuple[str, ...]:
    return Path(path.decode("utf-8", "surrogateescape")).parts


def _spelled(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Names on one line each: a file's name must not forge a result."""
    return tuple(visible(part) for part in parts)


def _excerpt(line: bytes, match_start: int) -> str:
    """The line without its end, or the part around the match if it is long."""
    text = line.rstrip(b"\r\n")
    if len(text) <= _LINE_CHARACTERS:
        return text.decode("utf-8", "replace")
    start = max(0, match_start - _BEFORE_MATCH)
    shown = text[start : start + _LINE_CHARACTERS].decode("utf-8", "replace")
    return f"{'…' if start else ''}{shown}{'…' if start + _LINE_CHARACTERS < len(text) else ''}"


def _listed(lines: list[str], left: int, found: Sequence[_Found]) -> str:
    notes = [f"[{left} more not shown; narrow the pattern, the glob or the path]"] if left else []
    notes += [f"[the search was cut short: {each.result.cut}]" for each in found if each.result.cut]
    return "\n".join([*(lines or ["Nothing was found."]), *notes])
