"""What the tools write, with a kill, a power cut or a refusal at every single file operation.

The person's own files, the answers that hold for good and the outputs that were too long.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic_ai.workspaces import WorkspaceError

from agent_ls.tools.approvals import Approval, ApprovalFile, ExactCommand, WorkspaceEdits
from agent_ls.tools.documents import Documents
from agent_ls.tools.output import Bounds, LongOutputs
from tests.disk.faulty_files import REFUSALS, Fault, FaultyFiles, Killed
from tests.fake_client import FakeClient
from tests.tools.conftest import Bench

KILLS: list[Fault] = ["kills", "kills after half", "cuts the power"]
FAILURES: list[Fault] = ["fails", "fails after half"]
OLD, NEW = b"\xef\xbb\xbfold\r\ntext\r\n", b"new\ntext\n"
NEW_SPELLED = b"\xef\xbb\xbfnew\r\ntext\r\n"


def every(operation: Callable[[FaultyFiles], object]) -> range:
    """The steps an operation takes when nothing goes wrong."""
    files = FaultyFiles()
    operation(files)
    assert files.count >= 2
    return range(files.count)


# --- the person's own files ------------------------------------------------------------------------------------------


def place(tmp_path: Path) -> tuple[Path, Path]:
    """A fresh workspace and a file outside it that a symlink of the workspace leads to."""
    workspace = tmp_path / "workspace"
    for folder in (workspace, tmp_path / "target"):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    file = tmp_path / "target" / "run.sh"
    file.write_bytes(OLD)
    file.chmod(0o751)
    (workspace / "link.sh").symlink_to(file)
    return workspace, file


def unharmed(workspace: Path, file: Path) -> bytes:
    """The file's bytes, once its mode and the symlink to it are found as they were."""
    assert stat.S_IMODE(file.stat().st_mode) == 0o751
    assert (workspace / "link.sh").readlink() == file
    return file.read_bytes()


@pytest.fixture
async def steps(tmp_path: Path) -> range:
    workspace, file = place(tmp_path)
    files = FaultyFiles()
    await Documents(FakeClient(), workspace, files).write_bytes(str(file), NEW)
    assert unharmed(workspace, file) == NEW_SPELLED
    assert list(file.parent.iterdir()) == [file]
    return range(files.count)


@pytest.mark.parametrize("fault", KILLS)
async def test_killed_at_every_operation_a_file_is_old_or_new_and_the_next_write_clears_what_is_left(
    tmp_path: Path, steps: range, fault: Fault
) -> None:
    for at in steps:
        workspace, file = place(tmp_path)
        with pytest.raises(Killed):
            await Documents(FakeClient(), workspace, FaultyFiles(fault, {at})).write_bytes(str(file), NEW)
        assert unharmed(workspace, file) in (OLD, NEW_SPELLED), f"at operation {at}"
        other = file.with_name("other.txt")
        await Documents(FakeClient(), workspace).write_bytes(str(other), b"other")
        assert sorted(file.parent.iterdir()) == [other, file], f"at operation {at}"


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("fault", FAILURES)
async def test_refused_at_every_operation_a_file_is_as_it_was_and_no_other_is_left(
    tmp_path: Path, steps: range, fault: Fault, refusal: int
) -> None:
    for at in steps:
        workspace, file = place(tmp_path)
        documents = Documents(FakeClient(), workspace, FaultyFiles(fault, {at}, refusal=refusal))
        with pytest.raises(WorkspaceError, match=rf"run\.sh was not changed: {os.strerror(refusal)}"):
            await documents.write_bytes(str(file), NEW)
        assert unharmed(workspace, file) == OLD, f"at operation {at}"
        assert list(file.parent.iterdir()) == [file], f"at operation {at}"
        await documents.write_bytes(str(file), NEW)
        assert unharmed(workspace, file) == NEW_SPELLED


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_refused_write_is_told_to_the_model_in_words_and_the_turn_goes_on(bench: Bench, refusal: int) -> None:
    file = bench.workspace / "a.py"
    file.write_text("old\n")
    bench.mode("bypass")
    bench.environment.documents._files = FaultyFiles("fails", range(1_000), refusal=refusal)
    read, edited, looked = await bench.calls(
        [("read_file", {"path": "a.py"})],
        [("edit_file", {"path": "a.py", "old_text": "old", "new_text": "new"})],
        [("read_file", {"path": "a.py"})],
    )
    assert (read.outcome, edited.outcome, looked.outcome) == ("success", "failed", "success")
    assert edited.content.count(f"was not changed: {os.strerror(refusal)}") == 1
    assert "Errno" not in edited.content
    assert "old" in looked.content
    assert list(bench.workspace.iterdir()) == [file]


async def test_what_a_running_writer_holds_is_not_taken_for_left_behind(tmp_path: Path) -> None:
    workspace, file = place(tmp_path)
    held = file.parent / f".{'0' * 16}.agent-ls"
    files = FaultyFiles()
    descriptor = files.open(held, create=True)
    assert files.claim(descriptor)
    await Documents(FakeClient(), workspace).write_bytes(str(file), NEW)
    assert held.exists()
    files.close(descriptor)
    await Documents(FakeClient(), workspace).write_bytes(str(file), NEW)
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("mode", [0o600, 0o640])
async def test_a_private_file_is_private_while_it_is_written(tmp_path: Path, mode: int) -> None:
    class Watched(FaultyFiles):
        def write(self, descriptor: int, data: bytes | memoryview) -> int:
            seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
            return super().write(descriptor, data)

    seen: list[int] = []
    workspace, file = place(tmp_path)
    file.chmod(mode)
    await Documents(FakeClient(), workspace, Watched()).write_bytes(str(file), NEW)
    assert seen == [0o600]
    assert stat.S_IMODE(file.stat().st_mode) == mode


# --- the answers that hold for good ----------------------------------------------------------------------------------

MAKE, OTHER = ExactCommand("make"), ExactCommand("make test")


def approvals(tmp_path: Path, files: FaultyFiles) -> ApprovalFile:
    """A file that holds an answer for this workspace and one for another."""
    folder = tmp_path / "config"
    shutil.rmtree(folder, ignore_errors=True)
    ApprovalFile(folder / "permissions.json", tmp_path).add(MAKE)
    ApprovalFile(folder / "permissions.json", tmp_path / "other").add(WorkspaceEdits())
    return ApprovalFile(folder / "permissions.json", tmp_path, files)


def allowed(file: ApprovalFile, workspace: Path) -> frozenset[Approval]:
    return ApprovalFile(file.path, workspace).load()


def names(file: ApprovalFile) -> list[str]:
    return sorted(path.name for path in file.path.parent.iterdir() if path.suffix != ".lock")


@pytest.mark.parametrize("fault", KILLS)
def test_killed_at_every_operation_the_answers_are_old_or_new(tmp_path: Path, fault: Fault) -> None:
    for at in every(lambda files: approvals(tmp_path, files).add(OTHER)):
        file = approvals(tmp_path, FaultyFiles(fault, {at}))
        with pytest.raises(Killed):
            file.add(OTHER)
        assert allowed(file, tmp_path) in ({MAKE}, {MAKE, OTHER}), f"at operation {at}"
        assert allowed(file, tmp_path / "other") == {WorkspaceEdits()}, f"at operation {at}"
        ApprovalFile(file.path, tmp_path).add(OTHER)
        assert allowed(file, tmp_path) == {MAKE, OTHER}
        assert names(file) == ["permissions.json"], f"at operation {at}"


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("fault", FAILURES)
def test_refused_at_every_operation_no_answer_is_lost_and_it_is_said_once(
    tmp_path: Path, fault: Fault, refusal: int, caplog: pytest.LogCaptureFixture
) -> None:
    for at in every(lambda files: approvals(tmp_path, files).add(OTHER)):
        file = approvals(tmp_path, FaultyFiles(fault, {at}, refusal=refusal))
        caplog.clear()
        file.add(OTHER)
        [said] = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
        assert said == (
            f"The answer could not be remembered in {file.path} and holds for this session only: {os.strerror(refusal)}"
        )
        assert MAKE in allowed(file, tmp_path), f"at operation {at}"
        assert allowed(file, tmp_path / "other") == {WorkspaceEdits()}, f"at operation {at}"
        assert names(file) == ["permissions.json"], f"at operation {at}"
        file.add(OTHER)
        assert allowed(file, tmp_path) == {MAKE, OTHER}


def test_a_file_of_answers_that_cannot_be_read_is_not_overwritten(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = approvals(tmp_path, FaultyFiles())
    kept = file.path.with_name("kept")
    file.path.rename(kept)
    file.path.mkdir()  # also root cannot read it
    file.add(OTHER)
    assert "could not be remembered" in caplog.text
    assert file.path.is_dir()
    assert kept.exists()


def test_a_damaged_file_of_answers_is_kept_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = approvals(tmp_path, FaultyFiles())
    by_hand = file.path.read_text()[:-3] + ",\n"
    file.path.write_text(by_hand)
    file.add(OTHER)
    assert allowed(file, tmp_path) == {OTHER}
    assert file.path.with_name("permissions.json.damaged").read_text() == by_hand
    assert "kept as permissions.json.damaged" in caplog.text


def test_a_second_damaged_file_of_answers_does_not_take_the_place_of_the_first(tmp_path: Path) -> None:
    file = approvals(tmp_path, FaultyFiles())
    real = tmp_path / "dotfiles.json"
    file.path.rename(real)
    file.path.symlink_to(real)
    for damage in ("{first", "{second"):
        real.write_text(damage)
        file.add(OTHER)
    assert file.path.is_symlink()
    assert allowed(file, tmp_path) == {OTHER}
    kept = sorted(tmp_path.glob("dotfiles.json.damaged*"))
    assert [each.read_text() for each in kept] == ["{first", "{second"]


def test_a_symlink_of_the_persons_dotfiles_stays_one(tmp_path: Path) -> None:
    file = approvals(tmp_path, FaultyFiles())
    real = tmp_path / "dotfiles.json"
    file.path.rename(real)
    file.path.symlink_to(real)
    file.add(OTHER)
    assert file.path.is_symlink()
    assert allowed(file, tmp_path) == {MAKE, OTHER}


# --- outputs that were too long --------------------------------------------------------------------------------------

LONG = "väry löng " * 500
BOUNDS = Bounds.of_window(1_000)


def named(bounded: str) -> str | None:
    found = re.search(r'recall\(id="(output-\d+)"', bounded)
    return found[1] if found else None


@pytest.mark.parametrize("fault", ["kills", "kills after half"])
def test_killed_at_every_operation_no_name_is_given_to_half_an_output(tmp_path: Path, fault: Fault) -> None:
    for at in every(lambda files: LongOutputs(tmp_path / "counted", files).bound(LONG, BOUNDS)):
        with pytest.raises(Killed):
            LongOutputs(tmp_path / f"{at}", FaultyFiles(fault, {at})).bound(LONG, BOUNDS)
        again = LongOutputs(tmp_path / f"{at}")
        name = named(again.bound(LONG, BOUNDS))
        assert name is not None
        assert again.read(name) == LONG, f"at operation {at}"


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("fault", FAILURES)
def test_refused_at_every_operation_an_output_says_why_its_rest_is_gone_and_leaves_no_file(
    tmp_path: Path, fault: Fault, refusal: int
) -> None:
    for at in every(lambda files: LongOutputs(tmp_path / "counted", files).bound(LONG, BOUNDS)):
        outputs = LongOutputs(tmp_path / f"{at}", FaultyFiles(fault, {at}, refusal=refusal))
        bounded = outputs.bound(LONG, BOUNDS)
        assert bounded.count(f"The rest could not be kept: {os.strerror(refusal)}") == 1
        assert list(outputs.directory.iterdir()) == [], f"at operation {at}"
        name = named(outputs.bound(LONG, BOUNDS))
        assert name is not None
        assert outputs.read(name) == LONG


def test_line_endings_of_a_kept_output_come_back_as_they_were(tmp_path: Path) -> None:
    text = "line\r\n" * 1_000
    outputs = LongOutputs(tmp_path)
    name = named(outputs.bound(text, BOUNDS))
    assert name is not None
    assert outputs.read(name) == text
