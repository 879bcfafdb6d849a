from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from agent_ls.log.lines import backwards, forwards

contents = st.lists(st.sampled_from([b"\n", b"", b"a", b"bc", b"\r\n", "\u2028\x85".encode(), b"\0" * 5])).map(b"".join)


@given(contents, st.integers(1, 9))
def test_backwards_is_forwards_reversed_for_any_block(content: bytes, block: int) -> None:
    lines = list(forwards(io.BytesIO(content)))
    assert list(backwards(io.BytesIO(content), block)) == lines[::-1]


@given(contents)
def test_lines_end_at_newline_bytes_only_and_a_torn_one_is_none(content: bytes) -> None:
    lines = list(forwards(io.BytesIO(content)))
    assert [line.data for line in lines] == content.split(b"\n")[:-1]
    for line in lines:
        assert content[line.span.offset : line.span.end] == line.data
        assert content[line.span.end : line.span.end + 1] == b"\n"


def test_backwards_reads_no_more_than_it_is_asked_for() -> None:
    file = io.BytesIO(b"x" * 1000 + b"\nlast\n")
    lines = backwards(file, 16)
    assert next(lines).data == b"last"
    assert file.tell() > 900
