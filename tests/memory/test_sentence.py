"""What a model's answer becomes, and what is never written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.memory.secret_like import looks_like_secret
from agent_ls.memory.sentence import MAX_CHARACTERS, NotWorthWriting, one_line, one_sentence, printable


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ("Fixed the login test.", "Fixed the login test."),
        ("- 2026-12-01: Fixed the login test.", "Fixed the login test."),
        ('"Fixed the\nlogin   test."\n', "Fixed the login test."),
        ("<think>Hmm, what was it?</think>Fixed the login test.", "Fixed the login test."),
        ("Summary: Fixed the \x1b[31mlogin\x1b[0m test.", "Fixed the login test."),
        ("Fixed\u202e the\x07 login test.", "Fixed the login test."),
        ("ログインのテストを直しました。", "ログインのテストを直しました。"),
        ("None of the payment tests ran before the clock was frozen.",) * 2,
        ("Đã sửa lỗi đăng nhập.", "Đã sửa lỗi đăng nhập."),
    ],
)
def test_an_answer_becomes_one_plain_line(answer: str, sentence: str) -> None:
    assert one_sentence(answer) == sentence


@pytest.mark.parametrize(
    "answer",
    [
        "",
        " \n\t",
        "<think>only thoughts",
        "nothing",
        "N/A",
        "Nothing worth knowing.",
        "....!!!???",
        "{}[]()<>==//",
        "I'm sorry, but I cannot help with that.",
        "the the the the the the the the the",
        "ok",
    ],
)
def test_blank_and_junk_are_refused(answer: str) -> None:
    with pytest.raises(NotWorthWriting):
        one_sentence(answer)


@pytest.mark.parametrize(
    "text",
    [
        "The key is sk-proj-abcdefghijklmnop1234567890",
        "Uses sk-ant-api03-AbCdEfGhIjKlMnOpQrStUv",
        "Pushed with ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "AKIAIOSFODNN7EXAMPLE is the access key",
        "password: hunter2!",
        "the API key is abc123def",
        "postgres://app:s3cret@db/app",
        "Authorization: Bearer abcdefghijklmnop123456",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc",
        "-----BEGIN RSA PRIVATE KEY-----",
        "wJalrXUtnFEMIaK7MDENGbPxRfiCYEXAMPLEKEY",
    ],
)
def test_what_looks_like_a_key_is_never_written(text: str) -> None:
    assert looks_like_secret(text)
    with pytest.raises(NotWorthWriting, match="key or password"):
        one_sentence(f"The deployment was configured. {text}")


@pytest.mark.parametrize(
    "text",
    [
        "Commit 9fceb02d0ae598e95dc970b74767f19372d61af8 broke the build",
        "The token: handling moved to src/auth/token_refresh.py",
        "Renamed test_the_password_is_never_shown_to_anyone_at_all_2",
        "See tests/memory/test_sentence_and_everything_else_in_there.py",
        "Tokens are counted by the provider, the estimate is 20000",
        "The password is hashed with argon",
        "Moved AbstractSingletonProxyFactoryBeanConfigurationAdapter",
    ],
)
def test_ordinary_sentences_are_no_secrets(text: str) -> None:
    assert not looks_like_secret(text)


@given(st.text(max_size=600))
def test_whatever_is_answered_is_one_short_printable_line_or_refused(answer: str) -> None:
    try:
        sentence = one_sentence(answer)
    except NotWorthWriting:
        return
    assert 0 < len(sentence) <= MAX_CHARACTERS
    assert one_line(sentence) == sentence
    sentence.encode("utf-8")


def test_a_long_answer_ends_at_a_sentence_or_a_word() -> None:
    sentence = one_sentence(
        "x" * 90 + "First this was done, with care. " + " ".join(f"thing{number}" for number in range(99))
    )
    assert sentence.endswith("with care.")
    words = " ".join(f"word{number}" for number in range(200))
    assert one_sentence(words).endswith("…")


def test_bytes_that_are_no_text_become_replacement_characters() -> None:
    assert printable(b"a\xffb".decode("utf-8", "surrogateescape")) == "a\ufffdb"
