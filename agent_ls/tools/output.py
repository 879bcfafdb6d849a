"""Bounds on what a tool result may take of the window; what is cut stays in a file the model can ask for."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from attrs import define, field, frozen

from agent_ls.disk.files import Files, OperatingSystemFiles
from agent_ls.disk.whole_file import write_all

_SHARE_OF_WINDOW: Final = 0.10
_MOST_CHARACTERS: Final = 50_000
_FEWEST_CHARACTERS: Final = 1_000
_CHARACTERS_PER_TOKEN: Final = 3
_DENSE_CHARACTERS_PER_TOKEN: Final = 1
_LONGEST_MEAN_WORD: Final = 20
_MOST_FOREIGN: Final = 0.3
_HEAD_SHARE: Final = 0.6
_NOTE_TOKENS: Final = 60
"""What the note in place of a cut takes; a result of that much is never cut."""
_MOST_LOOKED_AT: Final = 4 * _MOST_CHARACTERS
_MOST_KEPT_CHARACTERS: Final = 20_000_000
_MOST_KEPT_IN_ALL: Final = 10 * _MOST_KEPT_CHARACTERS
_DENSE_RUN: Final = re.compile(r"[A-Za-z0-9+/_=-]{400,}")
"""Base64 and the like: about one token a character, and nothing a model can use (FAULTS 44)."""
_DENSE_HEAD: Final = 80
_READ: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""No link is followed, and a FIFO does not make the reader wait."""


@frozen
class Share:
    """What is left for one result of a round, in tokens as `weigh` counts them."""

    tokens: int
    weigh: Callable[[str], int]

    def characters_of(self, text: str, most: int) -> int:
        """How many characters of both ends of `text`, at most `most`, weigh no more than the share."""
        limit = min(len(text), most)
        if self.weigh(_both_ends(text, limit)) <= max(self.tokens, _NOTE_TOKENS):
            return most
        room = max(self.tokens - _NOTE_TOKENS, 0)
        while limit and (weight := self.weigh(_both_ends(text, limit))) > room:
            limit = limit * room // weight
        return limit


@frozen
class Bounds:
    """How much one result may hold: `tokens`, turned into characters by a cautious guess at the kind of text.

    Where there is a `share` (of a round's room), no more than that either.
    """

    tokens: int
    share: Share | None = None

    @classmethod
    def of_window(cls, window: int, share: Share | None = None) -> Bounds:
        """A tenth of a window of `window` tokens."""
        return cls(int(window * _SHARE_OF_WINDOW), share)

    @property
    def characters(self) -> int:
        """The most characters of prose or code."""
        return self._within_limits(self.tokens * _CHARACTERS_PER_TOKEN)

    def characters_for(self, text: str) -> int:
        """The most characters of `text`: fewer if its words are too long for words, or not in the Latin script."""
        most = self._guess(text)
        return most if self.share is None else self.share.characters_of(text, most)

    def _guess(self, text: str) -> int:
        sample = text[:_MOST_CHARACTERS]
        words = sample.split()
        foreign = len(sample) - len(sample.encode("ascii", "ignore"))
        if sum(map(len, words)) > len(words) * _LONGEST_MEAN_WORD or foreign > len(sample) * _MOST_FOREIGN:
            return self._within_limits(self.tokens * _DENSE_CHARACTERS_PER_TOKEN)
        return self.characters

    def _within_limits(self, characters: int) -> int:
        return max(_FEWEST_CHARACTERS, min(_MOST_CHARACTERS, characters))


@define
class LongOutputs:
    """Keeps results that were cut, one private file each, in `directory`."""

    directory: Path
    _files: Files = field(factory=OperatingSystemFiles)
    _count: int = field(init=False, default=0)
    _kept: int = field(init=False, default=0)

    def bound(self, text: str, bounds: Bounds) -> str:
        """`text` as it may enter the history: without lone surrogates, long runs of base64 and more than `bounds`."""
        clean = text.encode("utf-8", "replace").decode("utf-8")
        # Neither head nor tail can come from the middle of a very long text, so that is not looked through.
        whole = len(clean) <= 2 * _MOST_LOOKED_AT
        looked_at = clean if whole else f"{clean[:_MOST_LOOKED_AT]}\n{clean[-_MOST_LOOKED_AT:]}"
        thinned = _DENSE_RUN.sub(_thinned, looked_at)
        limit = bounds.characters_for(thinned)
        if len(thinned) <= limit:
            return thinned if thinned == clean else f"{thinned}\n[Encoded data was left out. {self._where(clean)}]"
        note = f"[… {len(clean) - limit} characters left out here. {self._where(clean)} …]"
        return _both_ends(thinned, limit, f"\n{note}\n")

    def read(self, name: str) -> str | None:
        """A kept text by its name; None if there is none."""
        if not re.fullmatch(r"output-\d+", name):
            return None
        try:
            self._refuse_links()
            descriptor = os.open(self.directory / f"{name}.txt", _READ)
            with os.fdopen(descriptor, "rb") as file:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    return None
                # A repository may have brought a larger one; no character takes more than four bytes.
                return file.read(4 * _MOST_KEPT_CHARACTERS).decode("utf-8", "replace")
        except OSError:
            return None

    def delete(self) -> None:
        """Delete all of them. Raises OSError."""
        self._refuse_links()
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self.directory)

    def _where(self, text: str) -> str:
        kept = text[:_MOST_KEPT_CHARACTERS]
        if self._kept + len(kept) > _MOST_KEPT_IN_ALL:
            return "The rest could not be kept: this session has kept too much already"
        try:
            name = self._keep(kept.encode("utf-8"))
        except OSError as error:
            return f"The rest could not be kept: {error.strerror or error}"
        self._kept += len(kept)
        return f'The whole text ({len(text)} characters): recall(id="{name}", offset=…)'

    def _keep(self, data: bytes) -> str:
        """A name that stands for `data` from now on. Raises OSError; then no name does."""
        self._refuse_links()
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path, descriptor = self._new_file()
        try:
            write_all(descriptor, data, self._files)
        except OSError:
            with contextlib.suppress(OSError):  # its name is told to nobody
                self._files.unlink(path)
            raise
        finally:
            self._files.close(descriptor)
        return path.stem

    def _refuse_links(self) -> None:
        """Raises OSError where the directories are links, which a repository may have brought."""
        for directory in (self.directory.parent.parent, self.directory.parent, self.directory):
            if directory.is_symlink():
                raise OSError(errno.ELOOP, f"{directory} is a symbolic link")

    def _new_file(self) -> tuple[Path, int]:
        while True:
            self._count += 1
            path = self.directory / f"output-{self._count}.txt"
            try:
                return path, self._files.open(path, create=True, exclusive=True)
            except FileExistsError:
                continue


def _both_ends(text: str, characters: int, between: str = "") -> str:
    """So many characters of a text from its head and its tail; all of a text that has no more."""
    if len(text) <= characters:
        return text
    head = int(characters * _HEAD_SHARE)
    return f"{text[:head]}{between}{text[len(text) - characters + head :]}"


def _thinned(match: re.Match[str]) -> str:
    run = match.group()
    return f"{run[:_DENSE_HEAD]}[… {len(run) - _DENSE_HEAD} characters of encoded data]"
