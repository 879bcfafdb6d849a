import codecs

from hypothesis import given
from hypothesis import strategies as st

from agent_ls.tools.text_form import TextForm

texts = st.text(st.sampled_from("ab\r\n é\u2028\ufeff"), max_size=40)


def test_windows_file_is_shown_plain_and_spelled_back() -> None:
    form = TextForm.of_bytes(codecs.BOM_UTF8 + b"one\r\ntwo\r\n")
    assert form is not None
    assert form.text == "one\ntwo\n"
    assert form.spell_bytes("one\n2\nthree\n") == codecs.BOM_UTF8 + b"one\r\n2\r\nthree\r\n"


def test_lines_of_a_mixed_file_keep_their_own_ending() -> None:
    form = TextForm.of_text("a\r\nb\r\nc\nd\r\n")
    assert form.spell("a\nB\nc\nd\n") == "a\r\nB\r\nc\nd\r\n"
    assert form.spell("new\na\nc\nd\n") == "new\r\na\r\nc\nd\r\n"


def test_a_last_line_without_an_end_gets_the_usual_one_when_it_grows() -> None:
    assert TextForm.of_text("a\r\nb").spell("a\nb\nc\n") == "a\r\nb\r\nc\r\n"


def test_windows_endings_written_by_the_model_are_not_doubled() -> None:
    assert TextForm.of_text("a\r\n").spell("a\nb\r\n") == "a\r\nb\r\n"


def test_what_is_not_utf8_text_has_no_form() -> None:
    assert TextForm.of_bytes(b"caf\xe9") is None
    assert TextForm.of_bytes("a\n".encode("utf-16")) is None


@given(texts)
def test_spelling_the_shown_text_gives_the_same_bytes(text: str) -> None:
    raw = text.encode()
    form = TextForm.of_bytes(raw)
    assert form is not None
    assert form.spell_bytes(form.text) == raw


@given(texts, texts)
def test_a_plain_file_takes_new_text_as_it_is(old: str, new: str) -> None:
    form = TextForm.of_text(old.replace("\r\n", "\n"))
    assert form.spell(new) == new
