from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.tools.presentation import describe_call

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
tool_names = st.sampled_from(
    ["read_file", "write_file", "edit_file", "search_files", "find_files", "run_command", "recall", "other"]
)


@pytest.mark.parametrize(
    ("tool", "arguments", "title", "kind"),
    [
        ("read_file", {"path": "a.py", "offset": 9}, "Read a.py", "read"),
        ("edit_file", {"path": "a.py"}, "Edit a.py", "edit"),
        ("search_files", {"pattern": "x"}, "Search for x in .", "search"),
        ("run_command", {"command": "make"}, "Run make", "execute"),
        ("update_plan", {}, "Update the plan", "think"),
        ("unheard_of", None, "unheard_of", "other"),
    ],
)
def test_a_call_is_told_in_words(tool: str, arguments: Any, title: str, kind: str) -> None:
    assert describe_call(tool, arguments)[:2] == (title, kind)


def test_a_location_has_a_line_that_counts_from_one() -> None:
    [location] = describe_call("read_file", {"path": "a.py", "offset": 9})[2]
    assert (location.path, location.line) == ("a.py", 10)


def test_a_long_command_says_how_much_is_not_shown() -> None:
    title, _, _ = describe_call("run_command", {"command": "echo " + "x" * 3_000 + "; rm -rf ~"})
    assert title.endswith("more characters)")


@given(tool_names, json_values | st.dictionaries(st.sampled_from(["path", "command", "pattern", "id"]), json_values))
def test_whatever_the_model_wrote_is_one_printable_line(tool: str, arguments: Any) -> None:
    title, _, locations = describe_call(tool, arguments)
    assert title.isprintable()
    assert all(location.path.isprintable() for location in locations)
