from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from agent_ls.compaction.carried import MOST_COMMANDS, Carried, carried_from_json
from agent_ls.compaction.carried_text import lists_text, words_text
from agent_ls.compaction.estimate import Estimator
from tests.compaction.histories import histories


def collect(messages: list[ModelMessage], previous: Carried | None = None) -> Carried:
    return (previous or Carried()).and_then([(message, message.parts) for message in messages])


def said(*texts: str) -> list[ModelMessage]:
    return [ModelRequest(parts=[UserPromptPart(text)]) for text in texts]


def call(name: str, arguments: dict[str, object], result: str) -> list[ModelMessage]:
    return [
        ModelResponse(parts=[ToolCallPart(name, arguments, "same")]),
        ModelRequest(parts=[ToolReturnPart(name, result, "same")]),
    ]


@given(
    st.lists(st.text(alphabet="abc xyz", min_size=1, max_size=20).filter(str.strip), max_size=12), st.integers(0, 11)
)
def test_the_users_words_are_cumulative_and_in_order(texts: list[str], cut: int) -> None:
    whole = collect(said(*texts))
    in_steps = collect(said(*texts[cut:]), collect(said(*texts[:cut])))
    assert [each.text for each in whole.words] == texts
    assert [each.text for each in in_steps.words] == texts


def test_the_first_and_the_newest_are_shown_and_the_rest_named() -> None:
    texts = [f"message number {number} " + "word " * 50 for number in range(40)]
    rendered = words_text(collect(said(*texts)).words, 600, Estimator())
    assert "message number 0 " in rendered
    assert "message number 39 " in rendered
    assert "message number 5 " not in rendered
    assert "`recall` finds them" in rendered
    assert Estimator().text(rendered) < 800


def test_fault_28_a_huge_first_message_keeps_its_ends() -> None:
    huge = "START-MARKER " + "filler " * 50_000 + " END-MARKER"
    rendered = words_text(collect(said(huge, "later")).words, 1_000, Estimator())
    assert "START-MARKER" in rendered
    assert "END-MARKER" in rendered
    assert Estimator().text(rendered) < 1_300


def test_where_rules_change_the_later_one_is_current() -> None:
    rendered = words_text(collect(said("Use tabs.", "Use spaces instead.")).words, 1_000, Estimator())
    assert rendered.index("Use tabs.") < rendered.index("Use spaces instead.")
    assert "the later one is current" in rendered
    assert rendered.count("[1, 20") == rendered.count("[2, 20") == 1


def test_files_and_commands_are_listed() -> None:
    messages = [
        *call("read_file", {"path": "src/a.py"}, "x"),
        *call("Edit", {"file_path": "src/b.py"}, "ok"),
        *call("run_command", {"command": "pytest -q tests/unit/test_a.py"}, "1 failed\n[exit code: 1]"),
    ]
    carried = collect(messages)
    assert carried.read == ("src/a.py", "tests/unit/test_a.py")
    assert carried.changed == ("src/b.py",)
    assert carried.commands[0].exit_code == 1
    rendered = lists_text(carried, 500, 0, Estimator())
    for words in ("src/a.py", "src/b.py", "pytest -q tests/unit/test_a.py` (exit code 1)"):
        assert words in rendered


def test_only_the_newest_commands_are_kept() -> None:
    messages = [message for number in range(30) for message in call("Bash", {"command": f"echo {number}"}, "ok")]
    carried = collect(messages)
    assert len(carried.commands) == MOST_COMMANDS
    assert carried.commands[-1].command == "echo 29"


@given(histories())
def test_it_comes_back_from_json(messages: list[ModelMessage]) -> None:
    carried = collect(messages)
    assert carried_from_json(carried.to_json()) == carried


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["words", "read", "commands"]), inner),
    )
)
def test_damaged_metadata_carries_nothing_and_does_not_raise(stored: object) -> None:
    carried_from_json(stored)


def test_looking_through_an_editor_tool_changes_nothing_and_is_no_command() -> None:
    carried = collect(
        [
            *call("str_replace_editor", {"command": "view", "path": "/repo/a.py"}, "1 x"),
            *call("str_replace_editor", {"command": "str_replace", "path": "/repo/b.py"}, "ok"),
        ]
    )
    assert carried.read == ("/repo/a.py",)
    assert carried.changed == ("/repo/b.py",)
    assert carried.commands == ()


def test_an_edit_that_was_refused_changed_nothing() -> None:
    refused: list[ModelMessage] = [
        ModelResponse(parts=[ToolCallPart("edit_file", {"path": "a.py"}, "c")]),
        ModelRequest(parts=[ToolReturnPart("edit_file", "The user refused.", "c", outcome="denied")]),
    ]
    assert collect(refused).changed == ()
    assert collect(refused).read == ("a.py",)


def test_paths_in_patches_and_lists_and_commands_as_words() -> None:
    patch = "*** Begin Patch\n*** Update File: src/a.py\n*** Add File: src/b.py\n*** End Patch"
    carried = collect(
        [
            *call("apply_patch", {"input": patch}, "ok"),
            *call("apply_patch", {"patch": "--- a/src/c.py\n+++ b/src/c.py\n"}, "ok"),
            *call("read_many", {"paths": ["src/d.py", "src/e.py"]}, "ok"),
            *call("shell", {"command": ["bash", "-lc", "ls 'my dir'"]}, "Exit code 2\nls: cannot access"),
        ]
    )
    assert carried.changed == ("src/a.py", "src/b.py", "src/c.py")
    assert carried.read == ("src/d.py", "src/e.py")
    assert carried.commands[0].exit_code == 2
    assert carried.commands[0].command.startswith("bash -lc")


def test_reused_ids_give_each_command_its_own_exit_code() -> None:
    carried = collect(
        [
            *call("run_command", {"command": "first"}, "[exit code: 1]"),
            *call("run_command", {"command": "second"}, "[exit code: 2]"),
        ]
    )
    assert [each.exit_code for each in carried.commands] == [1, 2]


def test_lists_stay_within_their_budget_and_keep_what_was_used_last() -> None:
    messages = [message for number in range(200) for message in call("Read", {"file_path": f"src/m_{number}.py"}, "x")]
    messages += call("Bash", {"command": "make " + "target " * 40}, "ok")
    text = lists_text(collect(messages), 300, 0, Estimator())
    assert Estimator().text(text) < 420
    assert "src/m_199.py" in text
    assert "src/m_0.py" not in text
    assert "older ones" in text


def test_pictures_and_data_addresses_are_named_not_spelled_out() -> None:
    address = "data:image/png;base64," + "A" * 100_000
    picture = BinaryContent(b"png", media_type="image/png")
    words = collect([ModelRequest(parts=[UserPromptPart(["Look:", picture, ImageUrl(address)])])]).words
    assert words[0].text.startswith("Look:\n[image/png]\n[data:image/png")
    assert len(words[0].text) < 400


def test_a_standing_rule_stands_before_any_number_of_newer_words() -> None:
    rule = "For the rest of this session, never touch the vendor folder" + ", nor what it links to" * 12
    talk = [f"No, that should be {number} instead, and keep the title as it was. " * 3 for number in range(60)]
    rendered = words_text(collect(said("Fix the parser.", rule, *talk)).words, 700, Estimator())
    assert rule in rendered
    assert talk[-1].strip() in rendered


def test_a_long_message_is_shown_whole_where_there_is_room_and_by_its_standing_rule_where_not() -> None:
    text = "Always sign your commits.\n" + "This is how the service works. " * 30
    words = collect(said("Fix the parser.", text, "Go on.")).words
    assert text.strip() in words_text(words, 2_000, Estimator())
    short = words_text(words, 200, Estimator())
    assert "- Always sign your commits." in short
    assert "how the service works. " * 10 not in short
