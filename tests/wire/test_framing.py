import contextlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.wire.framing import Body, BrokenFraming, TooLarge, read_frames


def frames(data: bytes, max_body: int = 1000) -> list[Body | TooLarge]:
    return list(read_frames(io.BytesIO(data), max_body))


@given(st.lists(st.binary(max_size=200)))
def test_whatever_is_framed_comes_back(bodies: list[bytes]) -> None:
    stream = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies)
    assert frames(stream) == [Body(body) for body in bodies]


@pytest.mark.parametrize(
    "header",
    [
        b"content-length:2\n\n",
        b"CONTENT-LENGTH:   2\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n",
        b"\r\n\r\nContent-Length: 2\r\n\r\n",
    ],
)
def test_headers_are_read_tolerantly(header: bytes) -> None:
    assert frames(header + b"{}") == [Body(b"{}")]


@pytest.mark.parametrize("off_by", range(-24, 12))
def test_fault_49_a_wrong_length_costs_one_message_not_the_stream(off_by: int) -> None:
    body = b'{"jsonrpc":"2.0","id":1}'
    good = b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    stream = b"Content-Length: %d\r\n\r\n%s" % (len(body) + off_by, body) + good + good
    assert frames(stream)[-2:] == [Body(body), Body(body)]


def test_a_message_above_the_cap_is_skipped() -> None:
    stream = b"Content-Length: 5000\r\n\r\n" + b"x" * 5000 + b"Content-Length: 2\r\n\r\n{}"
    assert frames(stream) == [TooLarge(5000), Body(b"{}")]


@pytest.mark.parametrize(
    "data", [b"", b"Content-Length: 10\r\n\r\nabc", b"Content-Len", b"Content-Length: 5000\r\n\r\nx"]
)
def test_a_message_cut_off_by_the_end_is_dropped(data: bytes) -> None:
    assert frames(data) == []


@pytest.mark.parametrize(
    "data",
    [
        b"hello world\r\n\r\n",
        b"Content-Length: ten\r\n\r\n",
        b"Content-Length: -5\r\n\r\n",
        b"x" * 10_000,
        b"A: b\r\n" * 100,
        b'{"jsonrpc": "2.0"}\n',
        b"Content-Length: 99999999999\r\n\r\n{}",
    ],
)
def test_what_is_no_header_is_fatal(data: bytes) -> None:
    with pytest.raises(BrokenFraming):
        frames(data)


@given(st.binary(max_size=300))
def test_any_bytes_end_in_frames_or_in_broken_framing(data: bytes) -> None:
    with contextlib.suppress(BrokenFraming):
        assert all(isinstance(frame, Body | TooLarge) for frame in frames(data))
