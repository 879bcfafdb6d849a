"""Keys of the process's environment, and texts without them.

Providers and their SDKs repeat what they were sent: a key in a refusal, an address with a password in a failed
connection. Whatever of theirs becomes an error or a log line of ours goes through here. Commands that the model runs
get an environment without them (`tools/processes.py`).
"""

from __future__ import annotations

import base64
import logging
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

REDACTED: Final = "[redacted]"

_SECRET_NAME: Final = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH(?!ORS?(?:_|$))|COOKIE|^AGENT_LS_|^PYDANTIC_AI_|_DSN$|DATABASE_URL",
    re.IGNORECASE,
)
_HARMLESS_NAMES: Final = frozenset({"SSH_AUTH_SOCK", "XAUTHORITY"})
_OWN_SETTING: Final = re.compile(r"^AGENT_LS_|^PYDANTIC_AI_")
_ADDRESS_NAME: Final = re.compile(r"_(?:BASE_URL|BASE|ENDPOINT|HOST|URL)$", re.IGNORECASE)
_SIGNATURES: Final = frozenset({"code", "sig", "signature"})
"""Names of query values that let whoever has them in."""
_SHORTEST_SECRET: Final = 8


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name holds what no command may see: a key, or a setting of agent_ls itself."""
    return name not in _HARMLESS_NAMES and _SECRET_NAME.search(name) is not None


def secret_values(environment: Mapping[str, str]) -> frozenset[str]:
    """The values of secret names, and passwords and keys inside addresses, if long enough to be told apart."""
    found = {value for name, value in environment.items() if is_secret_name(name)}
    for name, value in environment.items():
        if _ADDRESS_NAME.search(name):
            found.update(_secrets_of_address(value))
    return frozenset(value for value in found if len(value) >= _SHORTEST_SECRET)


def redacted(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """`text` with every key of the environment replaced: as it is, quoted for a URL, or in base64 at any offset.

    Settings of agent_ls (`AGENT_LS_MODEL`) are no keys: a message has to be able to name their value.
    """
    keys = {name: value for name, value in environment.items() if not _OWN_SETTING.search(name)}
    secrets = secret_values(keys)
    return _pattern(secrets).sub(REDACTED, text) if secrets else text


class RedactingFormatter(logging.Formatter):
    """Formats a record with its traceback, without keys."""

    def format(self, record: logging.LogRecord) -> str:
        """As the base class, redacted."""
        return redacted(super().format(record))


def _secrets_of_address(address: str) -> Iterator[str]:
    try:
        parts = urlsplit(address)
    except ValueError:  # no address: "http://[", which a client refuses in its own words
        parts = urlsplit(address.replace("[", "").replace("]", ""))
    credentials, found, _ = parts.netloc.rpartition("@")
    if found:
        password = credentials.partition(":")[2] or credentials
        yield from (password, unquote(password))
    yield from (value for name, value in parse_qsl(parts.query) if is_secret_name(name) or name in _SIGNATURES)


@lru_cache(maxsize=4)
def _pattern(secrets: frozenset[str]) -> re.Pattern[str]:
    forms = {form for secret in secrets for form in _forms(secret) if len(form) >= _SHORTEST_SECRET}
    return re.compile("|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True)))


def _forms(secret: str) -> Iterator[str]:
    yield from (secret, quote(secret, safe=""), quote(secret), quote_plus(secret), repr(secret)[1:-1])
    data = secret.encode("utf-8", "surrogateescape")
    for offset in range(3):
        # Base64 takes six bits a character: those that no neighbour of the key has a part in are always the same.
        first, end = -(-offset * 8 // 6), (offset + len(data)) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(bytes(offset) + data).decode()[first:end]
