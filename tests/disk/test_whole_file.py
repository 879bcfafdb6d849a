"""Files written as a whole; every cut is in the crash matrices of those that use them."""

from __future__ import annotations

from pathlib import Path

from agent_ls.disk.files import OperatingSystemFiles
from agent_ls.disk.whole_file import write_whole


class LockedAway(OperatingSystemFiles):
    """A leftover of another user: it cannot be opened."""

    def open(self, path: Path, *, create: bool, exclusive: bool = False, mode: int = 0o600) -> int:
        if path.name.startswith(".0"):
            raise PermissionError(13, "Permission denied", str(path))
        return super().open(path, create=create, exclusive=exclusive, mode=mode)


def test_a_leftover_that_cannot_be_opened_does_not_keep_the_others(tmp_path: Path) -> None:
    names = [f".{digit * 16}.agent-ls" for digit in "0123456789abcdef"]
    for name in names:
        (tmp_path / name).write_text("half")
    write_whole(tmp_path / "a.txt", b"whole", LockedAway())
    assert sorted(path.name for path in tmp_path.iterdir()) == [names[0], "a.txt"]
