import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.tools.terminal_text import as_shown


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("plain\n\ttext\n", "plain\n\ttext\n"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("10%\r50%\r100%\ndone", "100%\ndone"),
        ("windows\r\nlines\r\n", "windows\nlines\n"),
        ("un\x1b]terminated\nnext", "un\nnext"),
        ("bell\x07 \x9b31m", "bell 31m"),
    ],
)
def test_what_is_left_is_what_a_terminal_shows(written: str, shown: str) -> None:
    assert as_shown(written) == shown


@pytest.mark.parametrize("piece", ["x", "\x1b]", "\x1b[", "\r", "\x1b"])
def test_long_output_takes_no_time_to_speak_of(piece: str) -> None:
    # Fails by the time limit of a test where the time grows with the square.
    as_shown(piece * 1_000_000)


@given(st.text(st.sampled_from("a\x1b[]m\r\n\x07\\;0")))
def test_no_escape_is_left_and_lines_stay(text: str) -> None:
    shown = as_shown(text)
    assert "\x1b" not in shown
    assert "\r" not in shown
