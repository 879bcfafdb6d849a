"""Texts without the keys of the environment, in whatever form a provider or an SDK repeats them."""

from __future__ import annotations

import base64
import logging
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.redaction import REDACTED, RedactingFormatter, is_secret_name, redacted, secret_values

KEY = "sk-canary/9f1c+äöü==&x"
FORMS = {
    "as it is": lambda key: key,
    "quoted": lambda key: quote(key, safe=""),
    "quoted, slashes kept": quote,
    "quoted as a form": quote_plus,
    "as Python shows it": lambda key: repr(f"x{key}x"),
    "basic credentials": lambda key: base64.b64encode(f"user:{key}".encode()).decode(),
    "base64 for URLs, at an offset of two": lambda key: base64.urlsafe_b64encode(f"ab{key}".encode()).decode(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_no_form_of_a_key_is_left(form: object) -> None:
    assert callable(form)
    text = redacted(f"refused: {form(KEY)}, sorry", {"OPENAI_API_KEY": KEY})
    assert REDACTED in text
    assert text.startswith("refused: ")
    assert text.endswith(", sorry")
    assert "canary" not in text
    assert form(KEY) not in text


@given(key=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=60), around=st.text())
def test_a_key_is_never_left_in_a_text(key: str, around: str) -> None:
    assert key not in redacted(f"{around}{key}{around}", {"OPENAI_API_KEY": key}).replace(REDACTED, "\0")


def test_passwords_and_keys_of_addresses_are_keys() -> None:
    environment = {"OPENAI_BASE_URL": "https://me:pass%2Fword-1@host:8080/v1?sig=signature-1&api-version=2026-01-01"}
    assert secret_values(environment) == {"pass%2Fword-1", "pass/word-1", "signature-1"}
    assert redacted("https://me:pass/word-1@host", environment) == f"https://me:{REDACTED}@host"


def test_an_address_that_is_none_still_gives_its_password_away_to_nobody() -> None:
    assert secret_values({"OPENAI_BASE_URL": "http://me:password-1@[host/v1"}) == {"password-1"}


def test_what_is_no_key_stays() -> None:
    environment = {
        "AGENT_LS_MODEL": "openai:gpt-5",
        "HOME": "/home/somebody",
        "A_TOKEN": "short",
        "GIT_AUTHOR_NAME": "Jane Doe",
    }
    text = "openai:gpt-5 in /home/somebody is short for Jane Doe"
    assert redacted(text, environment) == text


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("OPENAI_API_KEY", True),
        ("GITHUB_TOKEN", True),
        ("PROXY_AUTHORIZATION", True),
        ("BASIC_AUTH", True),
        ("AGENT_LS_MODEL", True),
        ("GIT_AUTHOR_NAME", False),
        ("GIT_AUTHOR_EMAIL", False),
        ("SSH_AUTH_SOCK", False),
        ("PATH", False),
    ],
)
def test_names_tell_what_commands_may_see(name: str, secret: bool) -> None:
    assert is_secret_name(name) is secret


def test_a_traceback_is_formatted_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    try:
        raise ValueError(f"Incorrect key {KEY}")
    except ValueError as error:
        record = logging.LogRecord(
            "agent_ls", logging.ERROR, "", 0, "failed: %s", (error,), (type(error), error, error.__traceback__)
        )
    text = RedactingFormatter("%(message)s").format(record)
    assert "Traceback" in text
    assert text.count(REDACTED) == 2
    assert KEY not in text
