from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent_ls.errors import LogUnwritable, SessionLocked, SessionNotFound
from agent_ls.log.codec import encode
from agent_ls.log.entries import MemoryEntry, MessagesEntry
from agent_ls.log.writer import SessionLog
from tests.disk.faulty_files import Fault, FaultyFiles, Killed, ShortWrites

from .strategies import prompt

AT = datetime(2026, 12, 1, 10, 30, tzinfo=UTC)
ONE, TWO, THREE = (MemoryEntry(AT, number, f"entry {number}") for number in (1, 2, 3))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


def lines(path: Path) -> list[bytes]:
    content = path.read_bytes()
    assert content == b"" or content.endswith(b"\n")
    return content.splitlines(keepends=True)


def side_files(path: Path) -> list[bytes]:
    return [each.read_bytes() for each in sorted(path.parent.glob("*.torn-*"))]


def test_a_line_is_appended_whole_and_its_span_reads_it_back(path: Path) -> None:
    log = SessionLog.create(path)
    spans = [log.append(ONE), log.append(TWO, durable=True)]
    assert lines(path) == [encode(ONE), encode(TWO)]
    assert [log.read(span) + b"\n" for span in spans] == [encode(ONE), encode(TWO)]
    assert log.length == path.stat().st_size
    log.close()


def test_files_are_private(path: Path) -> None:
    path.write_bytes(b"")
    path.unlink()
    log = SessionLog.create(path)
    log.append(ONE)
    log.close()
    path.write_bytes(path.read_bytes() + b"torn")
    SessionLog.open(path).close()
    for each in path.parent.iterdir():
        assert stat.S_IMODE(each.stat().st_mode) == 0o600, each


def test_short_writes_are_carried_on(path: Path) -> None:
    log = SessionLog.create(path, ShortWrites())
    log.append(MessagesEntry(AT, 0, (prompt("é" * 100),)))
    assert len(lines(path)) == 1
    log.close()


def test_creating_over_an_existing_log_is_refused(path: Path) -> None:
    path.write_bytes(encode(ONE))
    with pytest.raises(LogUnwritable):
        SessionLog.create(path)
    SessionLog.open(path).close()


@pytest.mark.parametrize("make", ["nothing", "directory", "symlink", "fifo"])
def test_only_a_regular_file_is_opened(path: Path, make: str) -> None:
    elsewhere = path.with_name("elsewhere")
    elsewhere.write_bytes(encode(ONE))
    if make == "directory":
        path.mkdir()
    elif make == "symlink":
        path.symlink_to(elsewhere)
    elif make == "fifo":
        os.mkfifo(path)
    with pytest.raises(SessionNotFound):
        SessionLog.open(path)


def test_a_new_log_is_not_written_through_a_symlink(path: Path) -> None:
    path.symlink_to(path.with_name("elsewhere"))
    with pytest.raises(LogUnwritable):
        SessionLog.create(path)
    assert not path.with_name("elsewhere").exists()


# --- torn tails ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", range(1, len(encode(TWO))))
def test_fault_33_a_torn_tail_is_kept_aside_and_the_next_line_stands_alone(path: Path, kept: int) -> None:
    torn = encode(TWO)[:kept]
    path.write_bytes(encode(ONE) + torn)
    log = SessionLog.open(path)
    assert lines(path) == [encode(ONE)]
    log.append(THREE)
    log.close()
    assert lines(path) == [encode(ONE), encode(THREE)]
    assert side_files(path) == [torn]


def test_a_tail_longer_than_a_block_is_found(path: Path) -> None:
    torn = b"x" * 2_500_000
    path.write_bytes(encode(ONE) + torn)
    SessionLog.open(path).close()
    assert lines(path) == [encode(ONE)]
    assert side_files(path) == [torn]


def test_each_torn_tail_has_a_side_file_of_its_own(path: Path) -> None:
    path.write_bytes(b"first")
    SessionLog.open(path).close()
    path.write_bytes(b"second")
    SessionLog.open(path).close()
    assert side_files(path) == [b"first", b"second"]


def test_a_torn_tail_that_cannot_be_kept_aside_stays_until_there_is_a_line_to_write(path: Path) -> None:
    path.write_bytes(encode(ONE) + b"torn")
    files = FaultyFiles("fails", {1})  # 0 opens the log, 1 the side file
    log = SessionLog.open(path, files)
    assert path.read_bytes() == encode(ONE) + b"torn"
    log.append(TWO)
    log.close()
    assert lines(path) == [encode(ONE), encode(TWO)]
    assert side_files(path) == [b"torn"]


# --- failing writes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("fault", ["fails", "fails after half"])
@pytest.mark.parametrize("step", range(4))
def test_a_failed_append_leaves_no_byte_and_the_next_one_works(
    path: Path, fault: Fault, step: int, durable: bool
) -> None:
    files = FaultyFiles(fault)
    log = SessionLog.create(path, files)
    log.append(ONE)
    files.steps = range(files.count + step, files.count + 4)
    fails = step < (2 if durable else 1)  # the write, and the sync behind it
    with pytest.raises(LogUnwritable) if fails else contextlib.nullcontext():
        log.append(TWO, durable=durable)
    files.steps = range(0)
    log.append(THREE, durable=durable)
    log.close()
    assert lines(path) == [encode(ONE), *([] if fails else [encode(TWO)]), encode(THREE)]


def test_the_message_names_the_cause_and_the_file(path: Path) -> None:
    files = FaultyFiles("fails")
    log = SessionLog.create(path, files)
    files.steps = range(files.count, 1000)
    with pytest.raises(LogUnwritable, match=r"No space left on device.*log\.jsonl"):
        log.append(ONE)
    log.close()


_FULL_DISK = """
import resource, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from agent_ls.errors import LogUnwritable
from agent_ls.log.entries import MemoryEntry
from agent_ls.log.writer import SessionLog
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
log = SessionLog.create(Path(sys.argv[1]))
at = datetime(2026, 12, 1, tzinfo=UTC)
log.append(MemoryEntry(at, 1, "before"))
resource.setrlimit(resource.RLIMIT_FSIZE, (log.length + 40, resource.RLIM_INFINITY))
try:
    log.append(MemoryEntry(at, 2, "does not fit"), durable=True)
    print("written")
except LogUnwritable as error:
    print(error.message)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
log.append(MemoryEntry(at, 3, "after"))
"""


def test_fault_34_a_really_full_file_takes_back_the_half_line(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _FULL_DISK, path], capture_output=True, text=True, check=True)
    assert "File too large" in done.stdout
    assert [
        b'"sentence":"%b"' % word in line for word, line in zip((b"before", b"after"), lines(path), strict=True)
    ] == [
        True,
        True,
    ]


# --- kills -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["kills", "kills after half", "cuts the power"])
@pytest.mark.parametrize("step", range(16))
def test_killed_at_any_operation_the_log_opens_and_holds_whole_lines(path: Path, fault: Fault, step: int) -> None:
    path.write_bytes(encode(ONE) + b"torn by an earlier kill")
    acknowledged = [encode(ONE)]
    files = FaultyFiles(fault, {step})
    log = None
    try:
        log = SessionLog.open(path, files)
        for entry in (TWO, THREE):
            log.append(entry, durable=True)
            acknowledged.append(encode(entry))
    except Killed:
        pass
    finally:
        if log is not None:
            log._lock.release()  # as the system does for a dead process
        else:
            path.with_name(f"{path.name}.lock").unlink()
    survivor = SessionLog.open(path)
    assert lines(path)[: len(acknowledged)] == acknowledged
    survivor.append(TWO)
    survivor.close()
    assert any(b"torn by an earlier kill" in each for each in side_files(path))


# --- one writer ------------------------------------------------------------------------------------------------------

_HOLD = """
import sys
from pathlib import Path
from agent_ls.log.writer import SessionLog
log = SessionLog.open(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def holder(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_refused_and_a_dead_one_holds_no_lock(path: Path) -> None:
    path.write_bytes(encode(ONE))
    with holder(path) as first:
        with pytest.raises(SessionLocked) as refused:
            SessionLog.open(path)
        assert refused.value.hint
        first.send_signal(signal.SIGKILL)
    log = SessionLog.open(path)
    log.append(TWO)
    log.close()


def test_a_second_writer_in_this_process_is_refused_until_the_first_closes(path: Path) -> None:
    first = SessionLog.create(path)
    with pytest.raises(SessionLocked):
        SessionLog.open(path)
    first.append(ONE)
    first.close()
    SessionLog.open(path).close()


# --- changed under us ------------------------------------------------------------------------------------------------


def test_a_deleted_log_is_written_again_with_all_its_lines(path: Path) -> None:
    log = SessionLog.create(path)
    span = log.append(ONE)
    path.unlink()
    path.with_name(f"{path.name}.lock").unlink(missing_ok=True)
    assert log.read(span) + b"\n" == encode(ONE)
    log.append(TWO, durable=True)
    assert lines(path) == [encode(ONE), encode(TWO)]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(SessionLocked):
        SessionLog.open(path)
    log.close()


def test_a_log_whose_whole_directory_was_deleted_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "sessions" / "log.jsonl"
    path.parent.mkdir()
    log = SessionLog.create(path)
    log.append(ONE)
    for each in path.parent.iterdir():
        each.unlink()
    path.parent.rmdir()
    log.append(TWO)
    log.close()
    assert lines(path) == [encode(ONE), encode(TWO)]


@pytest.mark.parametrize("fault", ["fails", "fails after half"])
@pytest.mark.parametrize("step", range(4))
def test_a_failure_while_a_deleted_log_is_written_again_loses_nothing(path: Path, step: int, fault: Fault) -> None:
    files = FaultyFiles(fault)
    log = SessionLog.create(path, files)
    log.append(ONE)
    path.unlink()
    files.steps = {files.count + step}
    with pytest.raises(LogUnwritable):
        log.append(TWO)
    log.append(THREE)
    log.close()
    assert lines(path) == [encode(ONE), encode(THREE)]


def test_a_file_in_the_logs_place_is_left_alone(path: Path) -> None:
    log = SessionLog.create(path)
    log.append(ONE)
    path.rename(path.with_name("moved"))
    path.write_bytes(b"somebody else's\n")
    with pytest.raises(LogUnwritable, match="another file"):
        log.append(TWO)
    log.close()
    assert path.read_bytes() == b"somebody else's\n"


def test_bytes_appended_from_outside_are_not_destroyed(path: Path) -> None:
    log = SessionLog.create(path)
    log.append(ONE)
    with path.open("ab") as file:
        file.write(encode(TWO) + b"half")
    span = log.append(THREE)
    assert lines(path) == [encode(ONE), encode(TWO), encode(THREE)]
    assert side_files(path) == [b"half"]
    assert log.read(span) + b"\n" == encode(THREE)
    log.close()


def test_a_log_cut_from_outside_is_carried_on_behind_its_last_whole_line(path: Path) -> None:
    log = SessionLog.create(path)
    log.append(ONE)
    log.append(TWO)
    os.truncate(path, len(encode(ONE)) + 5)
    log.append(THREE)
    log.close()
    assert lines(path) == [encode(ONE), encode(THREE)]
