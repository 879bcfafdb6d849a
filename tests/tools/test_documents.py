"""FAULTS 51: the buffer is what is read, and edits go through the editor."""

import stat

from agent_ls.protocol import PermissionOutcome
from tests.fake_client import Question, choose
from tests.tools.conftest import Bench

ALLOW = choose("allow_once")


async def test_fault_51_the_unsaved_text_is_what_is_read(bench: Bench) -> None:
    (bench.workspace / "a.py").write_text("on disk\n")
    bench.client.open(bench.workspace / "a.py", "in the editor\n")
    result = await bench.call("read_file", path="a.py")
    assert "in the editor" in result.content
    assert "on disk" not in result.content


async def test_fault_51_an_edit_of_an_open_document_goes_through_the_editor(bench: Bench) -> None:
    file = bench.workspace / "a.py"
    file.write_text("one\ntwo\n")
    bench.client.open(file, "one\ntwo, unsaved\n")
    bench.client.otherwise = ALLOW
    result = await bench.call("edit_file", path="a.py", old_text="two, unsaved", new_text="2")
    assert result.outcome == "success"
    assert [(path, text) for path, text, _ in bench.client.edits] == [(file, "one\n2\n")]
    assert file.read_text() == "one\ntwo\n"


async def test_fault_51_an_edit_of_text_that_changed_since_it_was_read_is_refused(bench: Bench) -> None:
    file = bench.workspace / "a.py"
    file.write_text("one\ntwo\n")
    bench.client.open(file, "one\ntwo\n")
    bench.client.otherwise = ALLOW
    await bench.call("read_file", path="a.py")
    bench.client.type(file, "one\ntwo\nthree\n")
    result = await bench.call("edit_file", path="a.py", old_text="two", new_text="2")
    assert result.outcome == "failed"
    assert "changed since you read it" in result.content
    assert bench.client.edits == []
    await bench.call("read_file", path="a.py")
    assert (await bench.call("edit_file", path="a.py", old_text="two", new_text="2")).outcome == "success"


async def test_fault_51_text_typed_while_the_question_is_open_is_not_overwritten(bench: Bench) -> None:
    file = bench.workspace / "a.py"
    file.write_text("")
    bench.client.open(file, "one\ntwo\n")

    def type_then_allow(_question: Question) -> PermissionOutcome:
        bench.client.type(file, "one\ntwo\nmine\n")
        return ALLOW

    bench.client.answers = [type_then_allow]
    result = await bench.call("edit_file", path="a.py", old_text="two", new_text="2")
    assert result.outcome == "failed"
    assert "changed" in result.content
    assert bench.client.open_documents()[file].text == "one\ntwo\nmine\n"


async def test_fault_51_a_change_on_the_disk_is_noticed_too(bench: Bench) -> None:
    file = bench.workspace / "a.py"
    file.write_text("one\n")
    bench.client.otherwise = ALLOW
    await bench.call("read_file", path="a.py")
    file.write_text("one\nby another program\n")
    result = await bench.call("write_file", path="a.py", content="mine")
    assert result.outcome == "failed"
    assert file.read_text() == "one\nby another program\n"


async def test_a_whole_file_is_not_overwritten_unread(bench: Bench) -> None:
    (bench.workspace / "a.py").write_text("precious\n")
    bench.client.otherwise = ALLOW
    result = await bench.call("write_file", path="a.py", content="new")
    assert result.outcome == "failed"
    assert "read it first" in result.content


async def test_an_edit_that_the_editor_refuses_is_told(bench: Bench) -> None:
    file = bench.workspace / "a.py"
    bench.client.open(file, "one\n")
    bench.client.otherwise = ALLOW
    bench.client.refuse_edits = "the buffer is not modifiable"
    result = await bench.call("edit_file", path="a.py", old_text="one", new_text="1")
    assert result.outcome == "failed"
    assert "not modifiable" in result.content


async def test_an_accepted_edit_is_read_before_the_editor_tells_of_it(bench: Bench) -> None:
    file = bench.workspace / "a.py"
    bench.client.open(file, "one\n")
    bench.client.otherwise = ALLOW
    bench.client.late_changes = True
    await bench.call("edit_file", path="a.py", old_text="one", new_text="1")
    assert "1\t1" in (await bench.call("read_file", path="a.py")).content
    bench.client.flush()
    bench.client.type(file, "2\n")
    assert "1\t2" in (await bench.call("read_file", path="a.py")).content


async def test_a_document_never_saved_is_listed_and_read(bench: Bench) -> None:
    bench.client.open(bench.workspace / "new.py", "fresh\n")
    assert "new.py" in (await bench.call("list_directory")).content
    assert "fresh" in (await bench.call("read_file", path="new.py")).content


async def test_a_document_of_windows_lines_is_edited_with_plain_ones(bench: Bench) -> None:
    file = bench.workspace / "a.py"
    bench.client.open(file, "one\r\ntwo\r\n")
    bench.client.otherwise = ALLOW
    await bench.call("edit_file", path="a.py", old_text="one\ntwo", new_text="1\n2")
    assert bench.client.open_documents()[file].text == "1\r\n2\r\n"


async def test_a_file_with_mark_and_windows_lines_keeps_both(bench: Bench) -> None:
    file = bench.workspace / "a.txt"
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    bench.client.otherwise = ALLOW
    result = await bench.call("edit_file", path="a.txt", old_text="one\ntwo", new_text="1\n2")
    assert result.outcome == "success"
    assert file.read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n"


async def test_a_write_keeps_the_mode_and_leaves_no_other_file(bench: Bench) -> None:
    file = bench.workspace / "run.sh"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o751)
    bench.client.otherwise = ALLOW
    await bench.call("edit_file", path="run.sh", old_text="sh\n", new_text="sh\nexit\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o751
    assert list(bench.workspace.iterdir()) == [file]


async def test_a_new_file_gets_its_directories(bench: Bench) -> None:
    bench.client.otherwise = ALLOW
    result = await bench.call("write_file", path="src/deep/new.py", content="x = 1\n")
    assert result.outcome == "success"
    assert (bench.workspace / "src/deep/new.py").read_text() == "x = 1\n"


async def test_a_file_that_appears_while_the_question_is_open_is_kept(bench: Bench) -> None:
    file = bench.workspace / "new.py"

    def appear_then_allow(_question: Question) -> PermissionOutcome:
        file.write_text("somebody else's\n")
        return ALLOW

    bench.client.answers = [appear_then_allow]
    result = await bench.call("write_file", path="new.py", content="mine\n")
    assert result.outcome == "failed"
    assert file.read_text() == "somebody else's\n"


async def test_two_edits_of_one_file_in_one_response_both_count(bench: Bench) -> None:
    file = bench.workspace / "a.py"
    file.write_text("one\ntwo\n")
    bench.client.otherwise = ALLOW
    edits = [
        ("edit_file", {"path": "a.py", "old_text": "one", "new_text": "1"}),
        ("edit_file", {"path": "a.py", "old_text": "two", "new_text": "2"}),
    ]
    results = await bench.calls([("read_file", {"path": "a.py"})], edits)
    assert [result.outcome for result in results] == ["success"] * 3
    assert file.read_text() == "1\n2\n"


async def test_a_command_of_the_same_response_sees_the_edit_before_it(bench: Bench) -> None:
    bench.client.otherwise = ALLOW
    results = await bench.calls(
        [("write_file", {"path": "a.txt", "content": "written"}), ("run_command", {"command": "cat a.txt"})]
    )
    assert "written" in results[1].content


async def test_several_replacements_are_made_together_or_not_at_all(bench: Bench) -> None:
    file = bench.workspace / "a.py"
    file.write_text("one two three")
    bench.client.otherwise = ALLOW
    one, absent = {"old_text": "one", "new_text": "1"}, {"old_text": "four", "new_text": "4"}
    assert (await bench.call("edit_file", path="a.py", replacements=[one, absent])).outcome == "failed"
    assert bench.client.questions == []
    two = {"old_text": "1 two", "new_text": "1 2"}
    assert (await bench.call("edit_file", path="a.py", replacements=[one, two])).outcome == "success"
    assert file.read_text() == "1 2 three"


async def test_text_that_is_not_unique_is_not_replaced(bench: Bench) -> None:
    (bench.workspace / "a.py").write_text("x x")
    result = await bench.call("edit_file", path="a.py", old_text="x", new_text="y")
    assert "2 times" in result.content


async def test_a_file_that_is_not_utf8_is_left_alone(bench: Bench) -> None:
    file = bench.workspace / "latin.txt"
    file.write_bytes(b"caf\xe9 one")
    bench.client.otherwise = ALLOW
    result = await bench.call("edit_file", path="latin.txt", old_text="one", new_text="two")
    assert result.outcome == "failed"
    assert "not UTF-8" in result.content
    assert file.read_bytes() == b"caf\xe9 one"
