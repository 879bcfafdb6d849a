"""The log reaches the person through `window/logMessage`, and stderr keeps what must not be lost."""

import logging
from collections.abc import Iterator

import pytest

from agent_ls.features.log import log_to_client, set_level
from tests.fake_client import FakeClient


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    ours, root = logging.getLogger("agent_ls"), logging.getLogger()
    before = (ours.level, list(ours.handlers), [(handler, list(handler.filters)) for handler in root.handlers])
    yield
    ours.setLevel(before[0])
    ours.handlers[:] = before[1]
    for handler, filters in before[2]:
        handler.filters[:] = filters


def test_records_go_to_the_client_from_the_level_on_with_their_cause_in_one_line() -> None:
    client = FakeClient()
    log_to_client(client, "info")
    logger = logging.getLogger("agent_ls.session")
    logger.debug("not now")
    logger.info("opened %s", "s")
    try:
        raise OSError("disk full")
    except OSError:
        logger.exception("not saved")
    set_level("debug")
    logger.debug("now")
    assert client.logged == [
        ("info", "agent_ls.session: opened s"),
        ("error", "agent_ls.session: not saved: OSError: disk full"),
        ("debug", "agent_ls.session: now"),
    ]


def test_the_wire_and_other_libraries_do_not_write_to_the_client() -> None:
    client = FakeClient()
    log_to_client(client, "debug")
    logging.getLogger("agent_ls.wire.outbox").warning("the client does not read")
    logging.getLogger("httpx").warning("a request")
    assert client.logged == []


def test_stderr_keeps_errors_and_the_wires_own_lines(caplog: pytest.LogCaptureFixture) -> None:
    kept: list[str] = []

    class Stderr(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            kept.append(record.getMessage())

    root, stderr = logging.getLogger(), Stderr()
    root.addHandler(stderr)
    try:
        log_to_client(FakeClient(), "debug")
        for name in ("agent_ls.session", "agent_ls.wire.jsonrpc"):
            logging.getLogger(name).warning("warning of %s", name)
            logging.getLogger(name).error("error of %s", name)
    finally:
        root.removeHandler(stderr)
    assert kept == ["error of agent_ls.session", "warning of agent_ls.wire.jsonrpc", "error of agent_ls.wire.jsonrpc"]
